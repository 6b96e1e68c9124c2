"""What the fakes of AWS share: an HTTP server on loopback, and AWS's JSON answers."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from tests.fakes.running import HttpServer


class Request(NamedTuple):
    method: str
    path: str
    target: str
    """The header X-Amz-Target, which names the operation of a JSON protocol; else ""."""
    body: bytes
    if_none_match: str = ""

    def json(self) -> dict[str, Any]:
        return dict(json.loads(self.body))


class Response(NamedTuple):
    content: bytes
    status: int = 200
    content_type: str = "application/x-amz-json-1.1"
    headers: tuple[tuple[str, str], ...] = ()
    size: int = 0
    """What the response says of its size, if that is not the content's."""


def as_json(content: object, status: int = 200) -> Response:
    return Response(json.dumps(content).encode(), status)


def failed(code: str, message: str = "") -> Response:
    """An error of SSM, Secrets Manager or CodeDeploy."""
    return as_json({"__type": code, "message": message}, 400)


def parameter(name: object, value: str) -> Response:
    """SSM's answer to GetParameter."""
    return as_json({"Parameter": {"Name": name, "Value": value}})


class AwsServer(HttpServer):
    """A subclass answers each request by `_answer`, in a thread of its own."""

    def __init__(self) -> None:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._respond(b"")

            def do_POST(self) -> None:
                self._respond(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

            def _respond(self, body: bytes) -> None:
                target = self.headers.get("X-Amz-Target", "")
                etag = self.headers.get("If-None-Match", "")
                response = fake._answer(Request(self.command, self.path, target, body, etag))
                self.send_response(response.status)
                self.send_header("Content-Type", response.content_type)
                self.send_header("Content-Length", str(response.size or len(response.content)))
                for name, value in response.headers:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(response.content)

            def log_message(self, *args: object) -> None:
                pass

        super().__init__(Handler)

    def _answer(self, request: Request) -> Response:
        raise NotImplementedError
