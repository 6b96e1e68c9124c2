"""A topic of Amazon SNS on loopback: it records what is published, within SNS's limits.

botocore finds it by AWS_ENDPOINT_URL_SNS.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import parse_qs

from tests.fakes.aws_server import AwsServer, Request, Response
from tests.parts.plugin import CREDENTIALS

TOPIC = "arn:aws:sns:eu-central-1:123456789012:kefu-ContactTopic-1a2b3c"
LARGEST = 262_144
_SUBJECT = re.compile(r"[!-~][ -~]{0,98}")


class Published(NamedTuple):
    status: int
    subject: str
    text: str


class AwsTopic(AwsServer):
    def __init__(self) -> None:
        super().__init__()
        self.refusals = 0
        """How many of the next requests are answered 500."""
        self.published: list[Published] = []

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables for a process that uses this server."""
        return {**CREDENTIALS, "AWS_ENDPOINT_URL_SNS": self.address}

    def accepted(self) -> list[Published]:
        return [one for one in self.published if one.status == 200]

    def _answer(self, request: Request) -> Response:
        asked = {name: value for name, [value] in parse_qs(request.body.decode()).items()}
        refused = self._refusal(asked)
        status = 200
        if self.refusals > 0:
            self.refusals -= 1
            status, refused = 500, "InternalError"
        elif refused:
            status = 400
        mail = Published(status, asked.get("Subject", ""), asked.get("Message", ""))
        self.published.append(mail)
        if refused:
            inside = f"<Error><Code>{refused}</Code><Message>no</Message></Error>"
            text = f"<ErrorResponse>{inside}</ErrorResponse>"
        else:
            inside = f"<MessageId>{len(self.published)}</MessageId>"
            result = f"<PublishResult>{inside}</PublishResult>"
            text = f"<PublishResponse>{result}</PublishResponse>"
        return Response(text.encode(), status, "text/xml")

    @staticmethod
    def _refusal(asked: dict[str, str]) -> str:
        """SNS's error code for a request that it refuses, by the reference of Publish; or ""."""
        assert asked["Action"] == "Publish"
        if asked.get("TopicArn") != TOPIC:
            return "NotFound"
        subject, text = asked.get("Subject", ""), asked.get("Message", "")
        fits = 0 < len(text.encode()) <= LARGEST and _SUBJECT.fullmatch(subject)
        return "" if fits else "InvalidParameter"
