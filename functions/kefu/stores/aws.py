"""Creates boto3 clients under a lock, because boto3's default session is not thread-safe.

The first call imports boto3, which takes half a second. Call these functions in a worker thread,
so that a cold start does not wait for the import.
"""

from __future__ import annotations

import asyncio
import random
import threading
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_client_creation: Final = threading.Lock()

RANDOM: Final = random.SystemRandom()
"""Copies of a snapshot (SnapStart) have the same state of `random`, and would all wait equally."""


def dynamodb(endpoint: str | None, *, connections: int) -> DynamoDBClient:
    import boto3
    from botocore.config import Config

    config = Config(
        connect_timeout=1,
        read_timeout=1,
        # The caller retries, because only the caller knows which operations are idempotent.
        retries={"mode": "standard", "total_max_attempts": 1},
        max_pool_connections=connections,
        tcp_keepalive=True,
    )
    with _client_creation:
        return boto3.client("dynamodb", endpoint_url=endpoint, config=config)


class SnsTopic:
    """Implements `kefu.sessions.people.delivery.Topic` with a topic of Amazon SNS."""

    def __init__(self, arn: str) -> None:
        self._arn = arn
        self._client: Any = None

    async def publish(self, subject: str, text: str) -> str:
        return await asyncio.to_thread(self._publish, subject, text)

    def _publish(self, subject: str, text: str) -> str:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError

        # The caller repeats a delivery that failed, also one whose answer was lost.
        config = Config(
            connect_timeout=2,
            read_timeout=8,
            retries={"mode": "standard", "total_max_attempts": 1},
        )
        try:
            with _client_creation:
                region = self._arn.split(":")[3]
                self._client = self._client or boto3.client("sns", region, config=config)
            self._client.publish(TopicArn=self._arn, Subject=subject, Message=text)
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        except BotoCoreError as error:
            return type(error).__name__
        return ""

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client:
            client.close()


def text_at(reference: str) -> str:
    """Return the text of an SSM parameter or of a secret in Secrets Manager. Blocks.

    `reference`: `ssm:NAME` or `secretsmanager:NAME-OR-ARN`. Raises BotoCoreError and ClientError,
    and ValueError if there is no text. The error messages never contain the text.
    """
    import boto3
    from botocore.config import Config

    service, _, name = reference.partition(":")
    config = Config(
        connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 2}
    )
    with _client_creation:
        client: Any = boto3.client("ssm" if service == "ssm" else "secretsmanager", config=config)
    try:
        if service == "ssm":
            answer = client.get_parameter(Name=name, WithDecryption=True)["Parameter"]
            text = answer.get("Value")
        else:
            text = client.get_secret_value(SecretId=name).get("SecretString")
    finally:
        client.close()
    if not isinstance(text, str):
        raise ValueError("contains no text")
    return text


def s3() -> Any:
    """A client that reads objects one at a time."""
    import boto3
    from botocore.config import Config

    config = Config(
        connect_timeout=1,
        read_timeout=5,
        retries={"mode": "standard", "total_max_attempts": 2},
        max_pool_connections=1,
    )
    with _client_creation:
        return boto3.client("s3", config=config)
