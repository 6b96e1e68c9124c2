"""Keys in SSM and Secrets Manager, mails by SNS, a version that is ready: in AWS's protocols."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import unquote

import pytest
from aws_bedrock_token_generator import provide_token
from botocore.exceptions import ClientError

from kefu.stores.aws import SnsTopic, text_at
from kefu.stores.new_version import problems_of
from tests.fakes.aws_keys import AwsKeys
from tests.fakes.aws_server import AwsServer, Request, Response
from tests.fakes.aws_topic import TOPIC, AwsTopic
from tests.parts.plugin import CREDENTIALS

ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:kefu-1a2b3c"


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsKeys]:
    with AwsKeys("sk-one, sk-two") as fake:
        for name, value in fake.environment.items():
            monkeypatch.setenv(name, value)
        yield fake


@pytest.mark.parametrize(
    ("reference", "asked"),
    [
        ("ssm:/kefu/keys", {"Name": "/kefu/keys", "WithDecryption": True}),
        ("secretsmanager:kefu", {"SecretId": "kefu"}),
        (f"secretsmanager:{ARN}", {"SecretId": ARN}),
    ],
)
def test_a_text_is_read_from_the_place_that_its_reference_names(
    keys: AwsKeys, reference: str, asked: dict[str, object]
) -> None:
    assert text_at(reference) == "sk-one, sk-two"
    assert keys.asked == [asked]


def test_e6_a_key_of_bedrock_is_that_of_amazons_own_generator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whose clock is the one of botocore, too."""
    now = datetime(2026, 11, 26, 12, tzinfo=UTC)
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda **_: now)
    for name, value in {**CREDENTIALS, "AWS_SESSION_TOKEN": "session/+="}.items():
        monkeypatch.setenv(name, value)
    assert text_at("bedrock:eu-west-1") == provide_token("eu-west-1")


def test_e6_a_key_of_bedrock_needs_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(ValueError, match="needs credentials of AWS"):
        text_at("bedrock:eu-west-1")


@pytest.mark.parametrize("reference", ["ssm:/kefu/keys", "secretsmanager:kefu"])
def test_a_refused_text_is_an_error_without_the_text(keys: AwsKeys, reference: str) -> None:
    keys.error = "AccessDeniedException"
    with pytest.raises(ClientError, match="AccessDeniedException"):
        text_at(reference)


def test_a_throttled_text_is_asked_for_once_more(keys: AwsKeys) -> None:
    keys.throttled = 1
    assert text_at("ssm:/kefu/keys") == "sk-one, sk-two"
    keys.throttled = 2
    with pytest.raises(ClientError, match="Throttling"):
        text_at("ssm:/kefu/keys")
    assert len(keys.asked) == 4


class Binary(AwsServer):
    """A secret of bytes."""

    def _answer(self, request: Request) -> Response:
        return Response(b'{"Name": "kefu", "SecretBinary": "AAAA"}')


def test_a_secret_of_bytes_holds_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    with Binary() as fake:
        for name, value in CREDENTIALS.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", fake.address)
        with pytest.raises(ValueError, match="contains no text"):
            text_at("secretsmanager:kefu")


async def test_h2_a_mail_is_published_and_a_refused_one_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with AwsTopic() as fake:
        for name, value in fake.environment.items():
            monkeypatch.setenv(name, value)
        topic = SnsTopic(TOPIC)
        assert await topic.publish("A visitor asks", "for a person") == ""
        [mail] = fake.accepted()
        assert (mail.subject, mail.text) == ("A visitor asks", "for a person")
        fake.refusals = 1
        assert await topic.publish("A visitor asks", "again") == "InternalError"
        assert len(fake.published) == 2, "the caller repeats it later"
        assert await topic.publish("", "again") == "InvalidParameter"
        await topic.aclose()
        assert await topic.publish("A visitor asks", "again") == ""
        await topic.aclose()
    assert await topic.publish("A visitor asks", "again") == "EndpointConnectionError"


class Version(AwsServer):
    """A version of the function, which answers each request alike."""

    def __init__(self, payload: bytes, error: str = "") -> None:
        super().__init__()
        self.payload = payload
        self.error = error
        self.asked: list[tuple[str, str]] = []

    def _answer(self, request: Request) -> Response:
        self.asked.append((unquote(request.path), request.json()["path"]))
        headers = (("X-Amz-Function-Error", self.error),) if self.error else ()
        return Response(self.payload, headers=headers)


def head(status: int) -> bytes:
    return json.dumps({"statusCode": status, "headers": {}}).encode()


def body(*problems: str, ready: bool = False) -> bytes:
    return json.dumps({"ready": ready, "problems": [{"message": one} for one in problems]}).encode()


def buffered(status: int, content: bytes) -> bytes:
    return json.dumps({"statusCode": status, "body": content.decode()}).encode()


OTHER = ["the function's answer to /ready is not Kefu's"]


@pytest.mark.parametrize(
    ("payload", "error", "problems"),
    [
        (head(200) + b"\0" * 8 + body(ready=True), "", []),
        (buffered(200, body(ready=True)), "", []),
        (head(503) + b"\0" * 8 + body("no key", "no table"), "", ["no key", "no table"]),
        (buffered(503, body("no key")), "", ["no key"]),
        (buffered(200, body()), "", ["/ready answers 200"]),
        (buffered(503, body(ready=True)), "", ["/ready answers 503"]),
        (b"<html>", "", OTHER),
        (buffered(200, b"{}"), "", OTHER),
        (b"[]", "", OTHER),
        (
            b'{"errorMessage": "no module"}',
            "Unhandled",
            ['the function ended with an error (Unhandled): {"errorMessage": "no module"}'],
        ),
    ],
)
def test_a_new_version_is_asked_whether_it_is_ready(
    payload: bytes, error: str, problems: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Version(payload, error) as fake:
        for name, value in CREDENTIALS.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", fake.address)
        arn = "arn:aws:lambda:eu-central-1:123456789012:function:kefu:7"
        assert problems_of(arn) == problems
    assert fake.asked == [(f"/2015-03-31/functions/{arn}/invocations", "/ready")]
