"""A server on loopback that is not Kefu: it asks for what passes the bot check, and keeps it."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler

from tests.fakes.running import HttpServer

ANSWERS = {"/health": {"upstream": "remote"}, "/admin/api/verification-pass": {"pass": "p"}}


class Stranger(HttpServer):
    def __init__(self) -> None:
        self.got: list[tuple[str, str]] = []
        """The path and the bearer of each request."""
        got = self.got

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                got.append((self.path, self.headers.get("Authorization", "")))
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                error = {"message": "a check", "code": "verification_required"}
                answer = ANSWERS.get(self.path)
                body = json.dumps(answer or {"error": error}).encode()
                self.send_response(200 if answer else 403)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
                """Log nothing."""

        super().__init__(Handler)
