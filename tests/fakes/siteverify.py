"""A bot check's provider on loopback: it redeems each token once, and fails on request."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs

from tests.fakes.running import HttpServer

SECRET = "canary-0x4AAAAA-bot-check-secret"

Answer = tuple[int, dict[str, str], bytes]


def said(**fields: Any) -> Answer:
    return 200, {"Content-Type": "application/json"}, json.dumps(fields).encode()


class SiteVerify(HttpServer):
    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        """The forms that came."""
        self.verdict: dict[str, Any] = {"hostname": "shop.example", "action": "chat"}
        """Further fields of the response for a good token."""
        self.instead: Callable[[], Answer] | None = None
        """Returns a response in place of a verdict."""
        self.delays: dict[str, float] = {}
        """Seconds before the answer to a token."""
        self._used: set[str] = set()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                status, headers, body = provider.answer({k: v[0] for k, v in form.items()})
                try:
                    self.send_response(status)
                    for name, value in {**headers, "Content-Length": str(len(body))}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(body)
                except ConnectionError:
                    """The client has disconnected, as some tests intend."""

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
                """Log nothing, because `asked` records the requests."""

        super().__init__(Handler)
        self.url = f"{self.address}/siteverify"

    def answer(self, form: dict[str, str]) -> Answer:
        self.asked.append(form)
        time.sleep(self.delays.get(form.get("response", ""), 0))
        if self.instead:
            return self.instead()
        if form.get("secret") != SECRET:
            return said(success=False, **{"error-codes": ["invalid-input-secret"]})
        token = form.get("response", "")
        if not token.startswith("good"):
            return said(success=False, **{"error-codes": ["invalid-input-response"]})
        if token in self._used:
            return said(success=False, **{"error-codes": ["timeout-or-duplicate"]})
        self._used.add(token)
        return said(success=True, **{"error-codes": []}, **self.verdict)


def slow(seconds: float) -> Callable[[], Answer]:
    def answer() -> Answer:
        time.sleep(seconds)
        return said(success=True, hostname="shop.example", action="chat")

    return answer


GOOD = json.dumps({"success": True, "hostname": "shop.example", "action": "chat"}).encode()
FAILURES: dict[str, Answer] = {
    "5xx": (502, {}, b"Bad Gateway"),
    "5xx that says yes": (500, {}, GOOD),
    "HTML": (200, {"Content-Type": "text/html"}, b"<html>Just a moment...</html>"),
    "redirect": (302, {"Location": "/elsewhere"}, GOOD),
    "not an object": (200, {}, b"[true]"),
    "success is no boolean": (200, {}, GOOD.replace(b"true", b'"true"')),
    "endless": (200, {}, GOOD + b" " * 100_000),
    "compressed": (200, {"Content-Encoding": "gzip"}, b"\x1f\x8b\x08\x00garbage"),
    "our secret is wrong": said(success=False, **{"error-codes": ["invalid-input-secret"]}),
}
"""Responses without a verdict, which must admit no visitor."""
