"""A proxy in front of DynamoDB that refuses requests, as an overloaded table does.

DynamoDB Local never throttles. The error messages are DynamoDB's, so boto3 retries and fails as it
does with the real service.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import time
from http.server import BaseHTTPRequestHandler
from typing import Any
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
        self.passing = 0
        """Calls that pass before the others are throttled."""
        self.refused = 0
        front = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle(self) -> None:
                # A stopped service may reset its connections.
                with contextlib.suppress(ConnectionError):
                    super().handle()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                front.passing -= 1
                if front.throttling and front.passing < 0:
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
                """Log nothing, because the responses show what happened."""

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


class UnprocessedFront(ThrottlingFront):
    """Returns some requests of a batch as unprocessed, as a busy table does."""

    def __init__(self, target: str) -> None:
        super().__init__(target)
        self.throttling = False
        self.at_most = 1 << 30
        """The number of requests of a batch that are processed; the others are returned."""
        self.batches: list[float] = []
        """When each batch came; monotonic."""

    def forward(self, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        if "DynamoDB_20120810.Batch" not in headers["X-Amz-Target"]:
            return super().forward(body, headers)
        self.batches.append(time.monotonic())
        whole = json.loads(body)
        [(table, asked)] = whole["RequestItems"].items()
        reading = isinstance(asked, dict)
        keys: list[Any] = asked["Keys"] if reading else asked
        now, later = (
            {**asked, "Keys": part} if reading else part
            for part in (keys[: self.at_most], keys[self.at_most :])
        )
        answer: dict[str, Any] = {"Responses": {}, "ItemCollectionMetrics": {}}
        if self.at_most > 0:
            part = json.dumps({**whole, "RequestItems": {table: now}}).encode()
            headers = {**headers, "Content-Length": str(len(part))}
            answer = json.loads(super().forward(part, headers)[1])
        left = {table: later} if len(keys) > self.at_most else {}
        answer["UnprocessedKeys" if reading else "UnprocessedItems"] = left
        return 200, json.dumps(answer).encode()
