"""What AWS answers for a parameter and for a secret: SSM and Secrets Manager on loopback.

botocore finds it by AWS_ENDPOINT_URL_SSM and AWS_ENDPOINT_URL_SECRETS_MANAGER.
"""

from __future__ import annotations

import json
import time
from http.server import BaseHTTPRequestHandler

from tests.fakes.running import HttpServer
from tests.parts.plugin import CREDENTIALS


class AwsKeys(HttpServer):
    """Hands out `text`, or an error of AWS's while `error` is set; `asked` is what was wanted."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.error = ""
        self.delay = 0.0
        self.asked: list[dict[str, object]] = []
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, answer = fake._answer(self.headers["X-Amz-Target"], json.loads(body))
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/x-amz-json-1.1")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args: object) -> None:
                pass

        super().__init__(Handler)

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to be told to ask this one."""
        url = self.address
        return {
            **CREDENTIALS,
            "AWS_ENDPOINT_URL_SSM": url,
            "AWS_ENDPOINT_URL_SECRETS_MANAGER": url,
        }

    def _answer(self, target: str, wanted: dict[str, object]) -> tuple[int, dict[str, object]]:
        self.asked.append(wanted)
        time.sleep(self.delay)
        if self.error:
            return 400, {"__type": self.error, "message": f"nothing about {self.text}"}
        if target == "AmazonSSM.GetParameter":
            return 200, {"Parameter": {"Name": wanted["Name"], "Value": self.text}}
        return 200, {"Name": wanted["SecretId"], "SecretString": self.text}
