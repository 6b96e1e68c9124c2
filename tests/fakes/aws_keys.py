"""SSM and Secrets Manager on loopback: parameters and secrets with API keys.

botocore finds it by AWS_ENDPOINT_URL_SSM and AWS_ENDPOINT_URL_SECRETS_MANAGER.
"""

from __future__ import annotations

import time

from tests.fakes.aws_server import AwsServer, Request, Response, as_json, failed, parameter
from tests.parts.plugin import CREDENTIALS


class AwsKeys(AwsServer):
    """Returns `text`, or an AWS error while `error` is set; `asked` has the requested names."""

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.text = text
        self.error = ""
        self.throttled = 0
        """So many requests to come are answered as SSM does above its rate."""
        self.delay = 0.0
        self.asked: list[dict[str, object]] = []

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables for a process that uses this server."""
        url = self.address
        return {
            **CREDENTIALS,
            "AWS_ENDPOINT_URL_SSM": url,
            "AWS_ENDPOINT_URL_SECRETS_MANAGER": url,
        }

    def _answer(self, request: Request) -> Response:
        wanted = request.json()
        self.asked.append(wanted)
        time.sleep(self.delay)
        if self.throttled:
            self.throttled -= 1
            return failed("ThrottlingException", "Rate exceeded")
        if self.error:
            return failed(self.error, f"nothing about {self.text}")
        if request.target == "AmazonSSM.GetParameter":
            return parameter(wanted["Name"], self.text)
        return as_json({"Name": wanted["SecretId"], "SecretString": self.text})
