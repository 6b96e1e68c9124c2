"""A proxy in front of a service with a single misbehaviour, as other proxies may have."""

from __future__ import annotations

import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar

from tests.fakes.running import HttpServer

HOP_BY_HOP = {"transfer-encoding", "connection", "content-length", "date", "server"}


class OddFront(HttpServer):
    """A correct proxy. A test may set each attribute to a wrong value."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.collects = False
        """Whether an answer is sent when all of it is there."""
        self.missing: set[str] = set()
        """Paths that are answered 404."""
        self.removed_headers: set[str] = set()
        self.says: dict[str, tuple[int, bytes]] = {}
        """Path -> another answer than the service's."""
        super().__init__(type("Handler", (_Handler,), {"front": self}))


class _Handler(BaseHTTPRequestHandler):
    front: ClassVar[OddFront]

    def do_GET(self) -> None:
        if self.path in self.front.missing:
            self._send(404, {}, b"not here")
        elif self.path in self.front.says:
            status, body = self.front.says[self.path]
            self._send(status, {}, body)
        else:
            self._pass_on()

    def do_POST(self) -> None:
        self.do_GET()

    def do_OPTIONS(self) -> None:
        self.do_GET()

    def _pass_on(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        request = urllib.request.Request(
            self.front.url + self.path,
            data=self.rfile.read(length) if length else None,
            headers={k: v for k, v in self.headers.items() if k.lower() != "host"},
            method=self.command,
        )
        answer: Any
        try:
            answer = urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            drop = HOP_BY_HOP | self.front.removed_headers
            headers = {k: v for k, v in answer.headers.items() if k.lower() not in drop}
            if self.front.collects or self.command != "POST":
                self._send(answer.status, headers, answer.read())
                return
            self._head(answer.status, headers)
            while piece := answer.read1(65536):
                self.wfile.write(piece)
                self.wfile.flush()

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self._head(status, {**headers, "Content-Length": str(len(body))})
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass
