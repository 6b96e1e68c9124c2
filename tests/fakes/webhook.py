"""A site's webhook on loopback: it records deliveries, and refuses as many as a test wants."""

from __future__ import annotations

import json
import time
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from tests.fakes.running import HttpServer


class Delivery(NamedTuple):
    status: int
    """The status of the response."""
    headers: dict[str, str]
    body: bytes

    @property
    def content(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.body)
        return parsed


class Webhook(HttpServer):
    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []
        self.refusals = 0
        """How many of the next deliveries are answered 500."""
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = 500 if webhook.refusals > 0 else 204
                webhook.refusals -= 1
                headers = {name.lower(): value for name, value in self.headers.items()}
                webhook.deliveries.append(Delivery(status, headers, body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
                """Logs nothing: deliveries are recorded."""

        super().__init__(Handler)
        self.url = f"{self.address}/kefu"

    def accepted(self) -> list[Delivery]:
        return [one for one in self.deliveries if one.status == 204]

    def wait_for(self, count: int) -> list[Delivery]:
        """The deliveries, when there are so many."""
        end = time.monotonic() + 180
        while len(self.deliveries) < count:
            assert time.monotonic() < end, self.deliveries
            time.sleep(0.02)
        return self.deliveries
