"""Asks a version of the Lambda function for `/ready`, and tells CodeDeploy the result.

For the hook that CodeDeploy runs before a new version receives traffic. All functions block.
"""

from __future__ import annotations

import json
from typing import Final

from kefu.stores.aws import client

_END_OF_PRELUDE: Final = b"\0" * 8
"""Lambda's separator between the status and the body of a streamed response."""

_EVENT: Final = {
    "resource": "/{proxy+}",
    "path": "/ready",
    "httpMethod": "GET",
    "headers": {"Host": "pre-traffic.invalid", "Accept": "application/json"},
    "multiValueHeaders": {"Host": ["pre-traffic.invalid"], "Accept": ["application/json"]},
    "queryStringParameters": None,
    "multiValueQueryStringParameters": None,
    "pathParameters": {"proxy": "ready"},
    "stageVariables": None,
    "requestContext": {
        "httpMethod": "GET",
        "path": "/ready",
        "protocol": "HTTP/1.1",
        "resourcePath": "/{proxy+}",
        "stage": "pre-traffic",
        "identity": {"sourceIp": "127.0.0.1", "userAgent": "kefu pre-traffic hook"},
    },
    "body": None,
    "isBase64Encoded": False,
}
"""A request as API Gateway's REST API sends it. The Web Adapter and Mangum read the same event."""


def problems_of(version: str) -> list[str]:
    """The reasons why this version cannot answer a chat; empty if it can.

    `version`: the ARN of a function's version. Raises BotoCoreError and ClientError.
    """
    aws = client("lambda", connect_timeout=2, read_timeout=25, retries={"total_max_attempts": 1})
    answer = aws.invoke(FunctionName=version, Payload=json.dumps(_EVENT).encode())
    payload: bytes = answer["Payload"].read()
    if error := answer.get("FunctionError"):
        return [
            f"the function ended with an error ({error}): {payload[:500].decode(errors='replace')}"
        ]
    return _problems_in(payload)


def _problems_in(payload: bytes) -> list[str]:
    """Read a streamed response (prelude, NUL bytes, body) or a buffered one (JSON)."""
    prelude, end, streamed = payload.partition(_END_OF_PRELUDE)
    try:
        head = json.loads(prelude)
        body = json.loads(streamed if end else head["body"])
        status, ready, problems = head["statusCode"], body["ready"], body["problems"]
    except (ValueError, KeyError, TypeError):
        return ["the function's answer to /ready is not Kefu's"]
    if status == 200 and ready is True:
        return []
    return [str(problem["message"]) for problem in problems] or [f"/ready answers {status}"]


def tell_codedeploy(event: dict[str, str], *, succeeded: bool) -> None:
    """`event`: the one that CodeDeploy sent. Raises BotoCoreError and ClientError."""
    client("codedeploy").put_lifecycle_event_hook_execution_status(
        deploymentId=event["DeploymentId"],
        lifecycleEventHookExecutionId=event["LifecycleEventHookExecutionId"],
        status="Succeeded" if succeeded else "Failed",
    )
