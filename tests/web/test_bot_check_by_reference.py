"""T17, T20: on AWS the bot check's secret is read by reference, from no environment variable."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kefu.auth.bot_check import Passes
from kefu.stores.referenced_keys import ReferencedKeys
from tests.fakes import behaviours as b
from tests.fakes.asking import Answer, conversation
from tests.fakes.aws_keys import AwsKeys
from tests.fakes.service import Service
from tests.fakes.siteverify import SECRET, SiteVerify
from tests.fakes.stage import FAST, Stage
from tests.fakes.upstream import ScriptedUpstream

PASS = "X-Verification-Pass"

PATIENT = {**FAST, "patience": "slow"}
"""boto3 may still be loading."""


async def with_service(
    aws: AwsKeys, ask: Callable[[Stage, SiteVerify], Any], **settings: Any
) -> None:
    """A service with the secret at a reference. Neither its answers nor its log contain the
    secret.
    """
    with SiteVerify() as provider, ScriptedUpstream() as upstream, aws:
        check = {
            "bot_check": "turnstile",
            "bot_check_url": provider.url,
            "bot_check_secret": "ssm:/kefu/bot-check-secret",
        }
        service = Service(
            upstream.base_url, environment=aws.environment, **{**PATIENT, **check, **settings}
        )
        with service as running:
            upstream.script("*", b.answer("Hello."), b.answer("Hello."))
            await ask(Stage(upstream, running, ["key-one"]), provider)
            assert SECRET not in running.stderr


async def said(stage: Stage, **proof: str) -> Answer:
    answer = await stage.ask(conversation("Hello?", **proof))
    assert SECRET not in answer.raw.decode() + repr(answer.headers)
    return answer


async def test_the_secret_is_read_where_the_reference_says() -> None:
    """The first visitor waits for the secret, which is read once for many visitors."""
    aws = AwsKeys(f"{SECRET}\n")
    aws.delay = 0.3

    async def ask(stage: Stage, provider: SiteVerify) -> None:
        first = await said(stage, verification_token="good-1")
        assert first.complete
        assert [form["secret"] for form in provider.asked] == [SECRET]
        assert (await said(stage, verification_pass=first.headers[PASS])).complete
        assert aws.asked == [{"Name": "/kefu/bot-check-secret", "WithDecryption": True}]

    await with_service(aws, ask)


@pytest.mark.parametrize(
    ("text", "error", "why"),
    [
        (SECRET, "AccessDeniedException", "AccessDeniedException"),
        (f"{SECRET},{SECRET}-2", "", "holds more than one secret"),
    ],
)
async def test_without_a_secret_no_check_passes(text: str, error: str, why: str) -> None:
    """A pass that was signed with an empty secret is refused, too."""
    aws = AwsKeys(text)
    aws.error = error

    async def ask(stage: Stage, provider: SiteVerify) -> None:
        for proof in ({"verification_token": "good-1"}, {"verification_pass": "9999999999.AAAA"}):
            answer = await said(stage, **proof)
            assert (answer.status, answer.error["code"]) == (503, "upstream_service_unavailable")
            assert PASS not in answer.headers
        await stage.service.logged(bot_check="unavailable: no secret")
        assert f"reading the bot check's secret: {why}" in stage.service.stderr
        assert (provider.asked, stage.upstream.journal) == ([], [])

    await with_service(aws, ask)


async def test_no_check_no_reading() -> None:
    aws = AwsKeys(SECRET)

    async def ask(stage: Stage, provider: SiteVerify) -> None:
        assert (await said(stage)).complete
        assert aws.asked == []

    await with_service(aws, ask, bot_check="off")


async def test_refused_keys_are_not_used_and_read_again() -> None:
    now, texts, told, complaints = [0.0], ["a,b", "c"], list[str](), list[str]()

    def set_secrets(secrets: tuple[str, ...]) -> None:
        if len(secrets) > 1:
            raise ValueError("too many")
        told.extend(secrets)

    keys = ReferencedKeys(
        lambda: texts.pop(0),
        set_secrets,
        lambda: now[0],
        ttl=300,
        on_degraded=complaints.append,
        what="it",
    )
    for now[0] in (1_000_000.0, 1_000_011.0):
        keys.prefetch()
        await asyncio.wait_for(keys.ready(), 5)
    await keys.aclose()
    assert (told, complaints) == (["c"], ["reading it: too many"])


def test_without_a_secret_no_pass_is_good_or_issued() -> None:
    passes = Passes("", 60)
    assert not passes.secret_known
    with pytest.raises(ValueError, match="secret is not set"):
        passes.issue("192.0.2.1", 0)
    assert not passes.good("60.", "192.0.2.1", 0)
    passes.set_secret("first")
    issued = passes.issue("192.0.2.1", 0)
    assert passes.good(issued, "192.0.2.1", 1)
    passes.set_secret("rotated")
    assert not passes.good(issued, "192.0.2.1", 1)
