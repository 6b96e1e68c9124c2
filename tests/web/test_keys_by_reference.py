"""T20, C13: on AWS the API keys are read by reference, from no environment variable."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import httpx
import jwt
import pytest

from kefu.settings import ConfigurationError, load
from tests.fakes import behaviours as b
from tests.fakes.aws_keys import AwsKeys
from tests.fakes.fixtures import Staged
from tests.fakes.service import Service
from tests.fakes.stage import FAST, Stage
from tests.fakes.upstream import ScriptedUpstream

CANARY = "sk-canary-kept-5f3c9a7e1b"


@pytest.fixture
def aws() -> Iterator[AwsKeys]:
    with AwsKeys(f" {CANARY} ,, sk-canary-second-11aa22bb") as fake:
        yield fake


def health(stage: Stage) -> dict[str, Any]:
    with urlopen(f"{stage.url}/health", timeout=5) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def served(upstream: ScriptedUpstream, aws: AwsKeys, reference: str, **settings: Any) -> Service:
    patient = {**FAST, "patience": "slow"}
    return Service(
        upstream.base_url,
        keys=(),
        environment={**aws.environment, "LONGCAT_API_KEYS": reference},
        **{**patient, **settings},
    )


@pytest.mark.parametrize(
    ("reference", "asked"),
    [
        ("ssm:/kefu/api-keys", {"Name": "/kefu/api-keys", "WithDecryption": True}),
        ("secretsmanager:kefu/keys", {"SecretId": "kefu/keys"}),
    ],
)
async def test_keys_are_read_where_the_reference_says(
    aws: AwsKeys, reference: str, asked: dict[str, object]
) -> None:
    """The first chat waits for the keys, which are read once for many chats. No log line
    has one.
    """
    aws.delay = 0.3
    with ScriptedUpstream() as upstream, served(upstream, aws, reference) as service:
        stage = Stage(upstream, service, [CANARY, "sk-canary-second-11aa22bb"])
        upstream.script("*", b.answer("from afar"), b.status(500), b.answer("again"))
        first = await stage.ask()
        second = await stage.ask()
        assert (first.status, second.status) == (200, 200)
        assert aws.asked == [asked]
        assert {request.key for request in upstream.journal} == set(stage.keys)
        assert health(stage)["status"] == "ok"
        assert health(stage)["notice"] == ""
        stage.check_output()


async def test_service_starts_degraded_while_keys_cannot_be_read(aws: AwsKeys) -> None:
    """L5: `/health` is degraded and a chat gets a 503. The texts of AWS's errors are not quoted."""
    aws.error = "AccessDeniedException"
    with ScriptedUpstream() as upstream, served(upstream, aws, "ssm:/k") as service:
        stage = Stage(upstream, service, [CANARY])
        answer = await stage.ask()
        assert (answer.status, answer.json["error"]["code"]) == (
            503,
            "upstream_service_unavailable",
        )
        said = health(stage)
        assert said["status"] == "degraded"
        assert "could be read from ssm:/k" in said["notice"]
        assert "reading the API keys: AccessDeniedException" in service.stderr
        assert upstream.journal == []
        stage.check_output()


async def test_one_throttled_reading_costs_a_visitor_two_seconds_at_most(aws: AwsKeys) -> None:
    """SSM allows an account 40 requests a second, and a thousand instances may start in ten
    seconds.
    """
    aws.throttled = 2  # one request of the service: boto3 tries twice
    with ScriptedUpstream() as upstream, served(upstream, aws, "ssm:/k") as service:
        stage = Stage(upstream, service, [CANARY])
        upstream.script("*", b.answer("hello"))
        answers = [await stage.ask()]
        while answers[-1].status != 200:
            assert len(answers) < 100
            await asyncio.sleep(0.2)
            answers.append(await stage.ask())
        assert len(aws.asked) == 3
        refused = answers[:-1]
        assert {answer.status for answer in refused} <= {503}
        # aws M3: the widget tries again by itself.
        assert {answer.headers["Retry-After"] for answer in refused} <= {"1"}


@pytest.mark.parametrize("reference", ["ssm:", "ssm:/a, sk-canary", "arn:aws:ssm:canary"])
def test_a_reference_that_is_none_stops_the_start_and_is_not_quoted(
    reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGCAT_API_KEYS", reference)
    with pytest.raises(ConfigurationError, match="LONGCAT_API_KEYS: must be ssm:") as caught:
        load()
    assert "canary" not in str(caught.value)


async def test_a_service_with_a_reference_takes_no_local_model(staged: Staged) -> None:
    place = {"LONGCAT_API_KEYS": "ssm:/kefu/none"}
    stage = staged(keys=0, url="http://127.0.0.1:9", environment=place)
    assert health(stage)["upstream"] == "remote"


async def test_t20_panel_token_and_identity_secrets_come_by_reference_too() -> None:
    secret = "kept-elsewhere-" + "s" * 32
    with (
        AwsKeys(secret) as aws,
        ScriptedUpstream() as upstream,
        Service(
            upstream.base_url,
            environment={**aws.environment, "ADMIN_TOKEN": "ssm:/kefu/admin-token"},
            sessions="true",
            identity_secrets="secretsmanager:kefu/identity",
            **FAST,
        ) as service,
    ):
        stage = Stage(upstream, service, [secret])
        upstream.script("*", b.answer("hi"))
        claims = {"sub": "user-1", "aud": "kefu", "exp": int(time.time()) + 60}
        token = jwt.encode(claims, secret, "HS256")
        asked = {"message": "hello"}
        assert (await stage.ask(asked, headers={"X-User-Token": token})).complete
        assert (await stage.ask(asked, headers={"X-User-Token": f"{token}x"})).status == 403
        async with httpx.AsyncClient(base_url=f"{service.url}/admin/api") as operator:
            headers = {"Authorization": f"Bearer {secret}"}
            assert (await operator.get("/about", headers=headers)).status_code == 200
            assert (await operator.get("/about")).status_code == 401
        stage.check_output()


@pytest.mark.parametrize("place", ["ssm:/kefu/header", "secretsmanager:kefu/header"])
async def test_d8_header_and_query_value_are_read_from_their_place(
    place: str, tmp_path: Path
) -> None:
    """Nothing is sent before they are known: without them the provider would refuse the key."""
    file = tmp_path / "kefu.toml"
    with ScriptedUpstream() as upstream, AwsKeys(CANARY) as aws:
        url, headers = f'"{upstream.base_url}?code={place}"', f'{{ X-Code = "{place}" }}'
        file.write_text(f"[model]\nurl = {url}\nheaders = {headers}\n")
        environment = {**aws.environment, "KEFU_CONFIG": str(file)}
        aws.error = "AccessDeniedException"
        with Service(None, keys=(), environment=environment, **FAST) as service:
            stage = Stage(upstream, service, [CANARY])
            upstream.script("*", b.answer("Hi"))
            assert (await stage.ask()).status == 503
            assert upstream.journal == []
            ready = await asyncio.to_thread(httpx.get, f"{service.url}/ready")
            said = [one["message"] for one in ready.json()["problems"]]
            assert said == [
                "Reading code of the model's query failed: AccessDeniedException.",
                "Reading X-Code of the model's headers failed: AccessDeniedException.",
            ]
            aws.error = ""
            for _ in range(100):
                if (await stage.ask()).status == 200:
                    break
                await asyncio.sleep(0.1)
            call = upstream.journal[-1]
            assert call.headers["x-code"] == CANARY
            assert call.path == f"/v1/chat/completions?code={CANARY}"
            stage.check_output()
