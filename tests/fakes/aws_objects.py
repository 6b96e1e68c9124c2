"""S3 on loopback, with objects that can be replaced. botocore finds it by AWS_ENDPOINT_URL_S3."""

from __future__ import annotations

import hashlib
import threading

from tests.fakes.aws_server import AwsServer, Request, Response
from tests.parts.plugin import CREDENTIALS

ERROR = "<Error><Code>{code}</Code><Message>no</Message></Error>"


class AwsObjects(AwsServer):
    """`objects` are by path: "/BUCKET/KEY". `sent` has the path of each body that was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.objects: dict[str, bytes] = {}
        self.sizes: dict[str, int] = {}
        """The sizes that objects are said to have; only their beginnings are sent."""
        self.sent: list[str] = []
        self.asked = 0
        self.error = ""
        """The code that every request is answered with, while it is set."""
        self.open = threading.Event()
        """While it is cleared, no request is answered."""
        self.open.set()

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables for a process that uses this server."""
        return {**CREDENTIALS, "AWS_ENDPOINT_URL_S3": self.address}

    def _answer(self, request: Request) -> Response:
        self.asked += 1
        self.open.wait(60)
        path = request.path.partition("?")[0]
        if self.error or path not in self.objects:
            code = self.error or "NoSuchKey"
            status = 403 if self.error else 404
            return Response(ERROR.format(code=code).encode(), status, "application/xml")
        body = self.objects[path]
        etag = f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'
        if request.if_none_match == etag:
            return Response(b"", 304, headers=(("ETag", etag),))
        self.sent.append(path)
        size = self.sizes.get(path, 0)
        return Response(body, 200, "application/octet-stream", (("ETag", etag),), size)
