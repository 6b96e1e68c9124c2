"""boto3's clients, made one at a time: its default session is not for several threads at once.

boto3 is loaded by the first call, which belongs into a worker thread: it costs half a second that
a cold start must not wait for. Importing this module does not load it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_one_at_a_time: Final = threading.Lock()


def dynamodb(endpoint: str | None, *, connections: int) -> DynamoDBClient:
    import boto3
    from botocore.config import Config

    config = Config(
        connect_timeout=1,
        read_timeout=1,
        retries={"mode": "standard", "total_max_attempts": 1},  # the caller knows what may be
        max_pool_connections=connections,
        tcp_keepalive=True,
    )
    with _one_at_a_time:
        return boto3.client("dynamodb", endpoint_url=endpoint, config=config)


def text_at(reference: str) -> str:
    """The text behind `ssm:NAME` (a SecureString, say) or `secretsmanager:NAME-OR-ARN`; blocks.

    Raises what botocore raises, BotoCoreError and ClientError, and ValueError where there is no
    text. Their words name the place, never what is there.
    """
    import boto3
    from botocore.config import Config

    service, _, name = reference.partition(":")
    config = Config(
        connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 2}
    )
    with _one_at_a_time:
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
        raise ValueError("holds no text")
    return text
