"""The bot check in front of a chat (T17): it fails closed, and checks host name and action."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.asking import Answer, conversation
from tests.fakes.fixtures import Staged
from tests.fakes.siteverify import FAILURES, SECRET, SiteVerify, slow
from tests.fakes.stage import UNHURRIED, Stage

PASS = "X-Verification-Pass"


@pytest.fixture
def provider() -> Iterator[SiteVerify]:
    with SiteVerify() as provider:
        yield provider


def guarded(staged: Staged, provider: SiteVerify, **settings: Any) -> Stage:
    check = {"bot_check": "turnstile", "bot_check_secret": SECRET, "bot_check_url": provider.url}
    return staged(1, **{**check, **settings})


async def ask(running: Stage, *, token: str = "", earlier: str = "", **more: Any) -> Answer:
    proof = {"verification_token": token, "verification_pass": earlier}
    body = conversation("Hello?", **{name: text for name, text in proof.items() if text})
    answer = await running.ask(body, **more)
    assert SECRET not in answer.raw.decode() + repr(answer.headers) + running.service.stderr
    return answer


def refused(answer: Answer, running: Stage) -> bool:
    assert (answer.status, answer.error["code"]) == (403, "verification_required")
    assert answer.headers["Access-Control-Allow-Origin"]
    assert PASS not in answer.headers
    assert running.upstream.journal == []
    return True


async def test_a_good_token_is_verified_once_and_its_pass_lets_further_messages_in(
    staged: Staged, provider: SiteVerify
) -> None:
    running = guarded(staged, provider)
    first = await ask(running, token="good-1")
    assert first.complete
    assert PASS in first.headers["Access-Control-Expose-Headers"]
    for _ in range(2):
        answer = await ask(running, earlier=first.headers[PASS])
        assert answer.complete
        assert PASS not in answer.headers
    [form] = provider.asked
    assert form == {"secret": SECRET, "response": "good-1", "remoteip": "127.0.0.1"}
    # No field of the bot check is sent to the upstream.
    assert not [c for c in running.upstream.journal if "verification" in repr(c.body)]
    assert (await running.service.logged(bot_check="pass"))["status"] == 200


async def test_without_token_or_with_a_bad_one_nothing_is_asked_upstream(
    staged: Staged, provider: SiteVerify
) -> None:
    running = guarded(staged, provider)
    assert refused(await ask(running), running)
    assert provider.asked == []
    assert refused(await ask(running, token="bad"), running)
    await running.service.logged(bot_check="refused: invalid-input-response")


async def test_a_token_counts_once(staged: Staged, provider: SiteVerify) -> None:
    running = guarded(staged, provider)
    assert (await ask(running, token="good-1")).complete
    again = await ask(running, token="good-1")
    assert (again.status, again.error["code"]) == (403, "verification_required")
    await running.service.logged(bot_check="refused: timeout-or-duplicate")
    assert len(running.upstream.journal) == 1


@pytest.mark.parametrize(
    "wrong", [{"hostname": "evil.example"}, {"hostname": None}, {"action": "login"}, {"action": ""}]
)
async def test_a_token_for_another_page_or_action_is_refused(
    staged: Staged, provider: SiteVerify, wrong: dict[str, Any]
) -> None:
    provider.verdict |= wrong
    running = guarded(staged, provider)
    assert refused(await ask(running, token="good-1"), running)


async def test_hcaptcha_knows_no_action_and_the_page_may_be_any_allowed_one(
    staged: Staged, provider: SiteVerify
) -> None:
    provider.verdict = {"hostname": "Help.Example"}
    origins = "https://shop.example, https://help.example"
    settings = {"bot_check": "hcaptcha", "allowed_origins": origins}
    running = guarded(staged, provider, **settings)
    assert (await ask(running, token="good-1")).complete


async def test_a_response_without_a_verdict_admits_no_visitor(
    staged: Staged, provider: SiteVerify
) -> None:
    running = guarded(staged, provider)
    for name, failure in FAILURES.items():
        provider.instead = lambda failure=failure: failure
        answer = await ask(running, token="good-1")
        assert (answer.status, answer.error["code"]) == (503, "upstream_service_unavailable"), name
        assert answer.headers["Retry-After"] == "5"
        assert PASS not in answer.headers
    assert len(provider.asked) == len(FAILURES), "a redirect was followed"
    assert running.upstream.journal == []


@pytest.mark.slow
async def test_a_slow_provider_is_given_up_after_three_seconds(
    staged: Staged, provider: SiteVerify
) -> None:
    running = guarded(staged, provider)
    provider.instead = slow(30)
    began = time.monotonic()
    answer = await ask(running, token="good-1")
    assert 2.9 < time.monotonic() - began < 25
    assert answer.status == 503
    assert running.upstream.journal == []


async def test_without_the_provider_only_visitors_with_a_pass_are_admitted(
    staged: Staged, provider: SiteVerify
) -> None:
    running = guarded(staged, provider)
    earlier = (await ask(running, token="good-1")).headers[PASS]
    provider.instead = lambda: FAILURES["5xx"]
    assert (await ask(running, token="good-2")).status == 503
    assert (await ask(running, earlier=earlier)).complete


async def test_a_pass_is_good_for_its_address_and_no_other(
    staged: Staged, provider: SiteVerify
) -> None:
    running = guarded(staged, provider)
    earlier = (await ask(running, token="good-1")).headers[PASS]
    assert (await ask(running, earlier=earlier, source="127.0.0.2")).status == 403
    expires, _, signature = earlier.partition(".")
    later = f"{int(expires) + 60}.{signature}"
    for forged in (later, f"{expires}.", signature, f"{expires}.{signature}x", ".", "é.é"):
        assert (await ask(running, earlier=forged)).status == 403, forged


async def test_a_pass_comes_with_an_error_too_since_its_token_is_used_up(
    staged: Staged, provider: SiteVerify
) -> None:
    running = guarded(staged, provider, ip_requests_per_minute=1)
    assert (await ask(running, token="good-1")).complete
    limited = await ask(running, token="good-2")
    assert limited.status == 429
    assert limited.headers[PASS]


async def test_the_openai_api_cannot_bypass_the_check(staged: Staged, provider: SiteVerify) -> None:
    running = guarded(staged, provider)
    path = "/v1/chat/completions"
    assert refused(await ask(running, path=path), running)
    assert (await ask(running, token="good-1", path=path)).status == 200


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"bot_check_secret": ""}, "KEFU_BOT_CHECK_SECRET: must be set"),
        ({"allowed_origins": "*"}, "KEFU_ALLOWED_ORIGINS: must name a page"),
    ],
)
def test_a_check_that_could_not_refuse_anybody_does_not_start(
    staged: Staged, provider: SiteVerify, settings: dict[str, str], sentence: str
) -> None:
    with pytest.raises(AssertionError, match=sentence):
        guarded(staged, provider, **settings)


async def test_t17_wrong_tokens_of_one_address_are_few_calls_of_the_provider(
    staged: Staged, provider: SiteVerify
) -> None:
    running = guarded(staged, provider)
    answers = [await ask(running, token=f"bad-{number}") for number in range(40)]
    statuses = [answer.status for answer in answers]
    assert statuses == [403] * 10 + [429] * 30
    assert all(int(answer.headers["Retry-After"]) <= 6 for answer in answers[10:])
    assert len(provider.asked) == 10
    assert (await ask(running, token="good-1", source="127.0.0.2")).complete
    await running.service.logged(bot_check="limited")


@pytest.mark.slow
async def test_t17_waiting_checks_of_a_few_addresses_leave_room_for_others(
    staged: Staged, provider: SiteVerify
) -> None:
    """Twelve addresses have twenty open requests each, while the provider is slow."""
    running = guarded(staged, provider, **UNHURRIED)
    provider.delays["bad"] = 2
    sources = [f"127.0.1.{number}" for number in range(1, 13)] * 20
    flood = [asyncio.create_task(ask(running, token="bad", source=source)) for source in sources]
    await asyncio.wait(flood, timeout=1)
    assert (await ask(running, token="good-1", source="127.0.0.2")).complete
    statuses = Counter([answer.status for answer in await asyncio.gather(*flood)])
    # An address may have two checks at once and ten in a minute. A busy machine sends some requests
    # late.
    assert statuses[429] >= 240 - 10 * 12
    assert len(provider.asked) <= 10 * 12 + 1
