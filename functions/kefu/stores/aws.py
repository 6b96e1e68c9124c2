"""Creates boto3 clients under a lock, because boto3's default session is not thread-safe.

The first call imports boto3, which takes half a second. Call these functions in a worker thread,
so that a cold start does not wait for the import.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_client_creation: Final = threading.Lock()


def dynamodb(endpoint: str | None, *, connections: int) -> DynamoDBClient:
    import boto3
    from botocore.config import Config

    config = Config(
        connect_timeout=1,
        read_timeout=1,
        # The caller retries, because only it knows which operations are idempotent.
        retries={"mode": "standard", "total_max_attempts": 1},
        max_pool_connections=connections,
        tcp_keepalive=True,
    )
    with _client_creation:
        return boto3.client("dynamodb", endpoint_url=endpoint, config=config)


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
