"""Stands before a DynamoDB and refuses what it is asked, as an overloaded table does.

DynamoDB Local never throttles. The words are those of the real service, so that the real boto3
between front and store does what it does there: try again, then give up.
"""

from __future__ import annotations

import contextlib
import http.client
import json
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from tests.fakes.running import HttpServer

REFUSAL = json.dumps(
    {
        "__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
        "message": "The level of configured provisioned throughput for the table was exceeded.",
    }
).encode()


class ThrottlingFront(HttpServer):
    def __init__(self, target: str) -> None:
        self.target = urlsplit(target).netloc
        self.throttling = True
        self.refused = 0
        front = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle(self) -> None:
                # A service that ends leaves its connections as they are.
                with contextlib.suppress(ConnectionError):
                    super().handle()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if front.throttling:
                    front.refused += 1
                    self.answer(400, REFUSAL)
                else:
                    self.answer(*front.forward(body, dict(self.headers)))

            def answer(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/x-amz-json-1.0")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
                """Silent: the answers speak for themselves."""

        super().__init__(Handler)
        self.url = self.address

    def forward(self, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.target, timeout=10)
        try:
            connection.request("POST", "/", body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()
