"""Creates boto3 clients under a lock, because boto3's default session is not thread-safe.

The first call imports boto3, which takes half a second. Call these functions in a worker thread,
so that a cold start does not wait for the import.
"""

from __future__ import annotations

import asyncio
import base64
import random
import threading
from typing import Any, Final

_client_creation: Final = threading.Lock()

BEDROCK_KEY_SECONDS: Final = 12 * 3600

RANDOM: Final = random.SystemRandom()
"""Copies of a snapshot (SnapStart) have the same state of `random`, and would all wait equally."""


def client(
    service: str, *, region: str | None = None, endpoint: str | None = None, **config: Any
) -> Any:
    """A new client. `config`: the options of botocore's Config, such as time limits."""
    import boto3
    from botocore.config import Config

    create: Any = boto3.client
    with _client_creation:
        return create(service, region, endpoint_url=endpoint, config=Config(**config))


class SnsTopic:
    """Implements `kefu.sessions.people.delivery.Topic` with a topic of Amazon SNS."""

    def __init__(self, arn: str) -> None:
        self._arn = arn
        self._client: Any = None

    async def publish(self, subject: str, text: str) -> str:
        return await asyncio.to_thread(self._publish, subject, text)

    def _publish(self, subject: str, text: str) -> str:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            # The caller repeats a delivery that failed, also one whose answer was lost.
            self._client = self._client or client(
                "sns",
                region=self._arn.split(":")[3],
                connect_timeout=2,
                read_timeout=8,
                retries={"mode": "standard", "total_max_attempts": 1},
            )
            self._client.publish(TopicArn=self._arn, Subject=subject, Message=text)
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        except BotoCoreError as error:
            return type(error).__name__
        return ""

    async def aclose(self) -> None:
        opened, self._client = self._client, None
        if opened:
            opened.close()


def text_at(reference: str) -> str:
    """Return the text of an SSM parameter or of a secret in Secrets Manager, or a key of Bedrock
    that the process's own credentials sign. Blocks.

    `reference`: `ssm:NAME`, `secretsmanager:NAME-OR-ARN` or `bedrock:REGION`. Raises BotoCoreError
    and ClientError, and ValueError if there is no text. The error messages never contain the text.
    """
    service, _, name = reference.partition(":")
    if service == "bedrock":
        return _bedrock_key(name)
    aws = client(
        "ssm" if service == "ssm" else "secretsmanager",
        connect_timeout=1,
        read_timeout=2,
        retries={"mode": "standard", "total_max_attempts": 2},
    )
    try:
        if service == "ssm":
            answer = aws.get_parameter(Name=name, WithDecryption=True)["Parameter"]
            text = answer.get("Value")
        else:
            text = aws.get_secret_value(SecretId=name).get("SecretString")
    finally:
        aws.close()
    if not isinstance(text, str):
        raise ValueError("contains no text")
    return text


def _bedrock_key(region: str) -> str:
    """A short-term key: a signed request in Base64. It ends with the credentials that sign it, or
    after 12 hours: https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html
    """
    from botocore.auth import SigV4QueryAuth
    from botocore.awsrequest import AWSRequest
    from botocore.session import Session

    if not (credentials := Session().get_credentials()):
        raise ValueError("needs credentials of AWS, such as the role of a function or of a machine")
    host, what = "bedrock.amazonaws.com", {"Action": "CallWithBearerToken"}
    request = AWSRequest("POST", f"https://{host}/", {"host": host}, params=what)
    SigV4QueryAuth(credentials, "bedrock", region, expires=BEDROCK_KEY_SECONDS).add_auth(request)
    signed = f"{str(request.url).removeprefix('https://')}&Version=1"
    return f"bedrock-api-key-{base64.b64encode(signed.encode()).decode()}"
