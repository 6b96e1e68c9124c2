"""The keys that one request uses, their order and their number."""

from __future__ import annotations

import asyncio

import pytest

from kefu.errors import GatewayTimeout, RateLimited, UpstreamUnavailable
from kefu.relay.key_pool import Cooldowns, Reason
from kefu.relay.time_limits import NORMAL
from kefu.stores.memory import MemoryStore
from tests.fakes import in_process_upstream as up
from tests.fakes.in_process_upstream import Reply
from tests.fakes.relaying import Rig, in_virtual_time, later

LIMITED, FAILING, INVALID = Reason.RATE_LIMITED, Reason.FAILING, Reason.INVALID


def secrets(rig: Rig) -> list[str]:
    return [secret for secret, _ in rig.asked]


@in_virtual_time
async def test_c14_requests_take_the_keys_in_turn() -> None:
    rig = Rig({name: up.answer() for name in "abc"})
    for _ in range(4):
        assert (await rig.ask()).whole
    assert secrets(rig) == ["a", "b", "c", "a"]


@in_virtual_time
async def test_c14_key_that_failed_without_cooldown_is_asked_last_for_a_while() -> None:
    rig = Rig({"a": [up.REFUSED, up.answer()], "b": up.answer(), "c": up.answer()})
    for _ in range(3):
        assert (await rig.ask()).whole
    assert secrets(rig) == ["a", "b", "c", "b"]
    await asyncio.sleep(30)
    assert (await rig.ask()).whole
    assert secrets(rig)[4:] == ["c", "a"], "beside the one whose turn it is"


@pytest.mark.parametrize("reply", [up.REFUSED, up.refusal(408), up.STREAM.then(up.LOST)])
@in_virtual_time
async def test_no_key_is_asked_twice_in_one_request(reply: Reply) -> None:
    """Also for failures without a cooldown."""
    rig = Rig({"a": reply, "b": reply})
    result = await rig.ask()
    assert result.error.status == 503
    assert secrets(rig) == ["a", "b"]


@pytest.mark.parametrize(("retries", "asked"), [(0, 1), (1, 2), (3, 4)])
@pytest.mark.parametrize(
    ("reply", "error"), [(up.refusal(429), RateLimited), (up.refusal(500), UpstreamUnavailable)]
)
@in_virtual_time
async def test_u6_request_ends_after_its_retries_though_keys_are_left(
    reply: Reply, error: type[Exception], retries: int, asked: int
) -> None:
    """There are ten keys. The next request may succeed at once, with another key."""
    rig = Rig({f"key-{number}": reply for number in range(10)}, max_retries=retries)
    result = await rig.ask()
    assert type(result.refused) is error
    assert (result.error.retry_after, result.error.should_retry) == (1, False)
    assert len(set(secrets(rig))) == len(secrets(rig)) == asked
    assert len(await rig.cooling()) == asked


@in_virtual_time
async def test_u6_another_request_goes_on_with_the_keys_that_are_left() -> None:
    rig = Rig({**{f"bad-{number}": up.refusal(429) for number in range(5)}, "good": up.answer()})
    assert (await rig.ask()).error.status == 429
    assert (await rig.ask()).whole
    assert secrets(rig)[4:] == ["bad-4", "good"]


@in_virtual_time
async def test_u3_all_keys_limited_say_when_the_first_is_free() -> None:
    waits = {"a": "300", "b": "120", "c": "200"}
    rig = Rig({name: up.refusal(429, retry_after=wait) for name, wait in waits.items()})
    error = (await rig.ask()).error
    assert (error.status, error.retry_after, error.should_retry) == (429, 120, False)
    assert secrets(rig) == ["a", "b", "c"]


@in_virtual_time
async def test_u3_one_limited_key_among_failing_ones_makes_it_a_429() -> None:
    rig = Rig({"a": up.refusal(429, retry_after="90"), "b": up.refusal(500)})
    error = (await rig.ask()).error
    assert (error.status, error.retry_after) == (429, 60)


@pytest.mark.parametrize(
    ("reasons", "status", "wait"),
    [
        ({"a": (50, LIMITED), "b": (40.2, LIMITED)}, 429, 41),
        ({"a": (50, FAILING), "b": (40, FAILING)}, 503, 40),
        ({"a": (50, INVALID), "b": (40, INVALID)}, 503, 40),
        ({"a": (50, FAILING), "b": (40, INVALID)}, 503, 50),
    ],
)
@in_virtual_time
async def test_u5_keys_that_all_cool_down_are_not_asked(
    reasons: dict[str, tuple[float, Reason]], status: int, wait: int
) -> None:
    rig = Rig({"a": up.answer(), "b": up.answer()})
    for secret, (seconds, reason) in reasons.items():
        await rig.cool(secret, seconds, reason)
    before = await rig.cooling()
    result = await rig.ask()
    assert (result.error.status, result.error.retry_after) == (status, wait)
    assert result.error.should_retry is False
    assert (rig.asked, result.call.attempts) == ([], [])
    assert await rig.cooling() == before


@in_virtual_time
async def test_key_is_asked_again_as_soon_as_it_has_cooled_down() -> None:
    """Requirement C14 and fault D4."""
    rig = Rig({"a": [up.refusal(500), up.answer()]})
    assert (await rig.ask()).error.status == 503
    await asyncio.sleep(59.9)
    assert (await rig.ask()).error.retry_after == 1
    await asyncio.sleep(0.1)
    assert (await rig.ask()).whole
    assert rig.asked == [("a", 0), ("a", 60)]


@in_virtual_time
async def test_c15_key_that_another_process_cools_meanwhile_is_skipped() -> None:
    """The cooldowns are read again before each attempt."""
    rig = Rig({"a": up.SILENT, "b": up.answer("b"), "c": up.answer("c")})
    result, _ = await asyncio.gather(rig.ask(), later(1, lambda: rig.cool("b", 60)))
    assert result.text == "c"
    assert rig.asked == [("a", 0), ("c", 2.5)]


@in_virtual_time
async def test_a_cooling_key_is_not_asked_before_its_time() -> None:
    rig = Rig({"a": up.answer()})
    await rig.cool("a", 600, LIMITED)
    await asyncio.sleep(500)
    assert (await rig.ask()).error.retry_after == 100
    assert rig.asked == []


@in_virtual_time
async def test_l5_keys_that_arrive_late_are_waited_for() -> None:
    """The pool is empty until the keys were read."""

    async def read_keys() -> None:
        await asyncio.sleep(0.7)
        rig.pool.replace(["late"])

    rig = Rig({"late": up.answer()}, keys=[], keys_ready=read_keys)
    assert (await rig.ask()).whole
    assert rig.asked == [("late", 0.7)]


@in_virtual_time
async def test_l5_without_any_key_the_caller_gets_503() -> None:
    result = await Rig({}).ask()
    assert (result.error.status, result.error.should_retry) == (503, False)
    assert "No API key" in result.error.message


@in_virtual_time
async def test_t18_each_key_receives_the_same_body_and_only_its_own_secret() -> None:
    rig = Rig({"a": up.refusal(500), "b": up.answer()})
    result = await rig.ask()
    assert {exchange.body for exchange in rig.upstream.exchanges} == {result.call.body}
    assert secrets(rig) == ["a", "b"]
    assert {attempt.key for attempt in result.call.attempts} == {
        key.fingerprint for key in rig.pool.keys
    }


@in_virtual_time
async def test_pool_counts_how_tries_ended() -> None:
    rig = Rig({"a": [up.refusal(500), up.answer()], "b": up.answer()})
    await rig.ask()
    await asyncio.sleep(60)
    await rig.ask()
    view = await rig.store.cooldowns()
    states = rig.pool.states(view, 0)
    assert [dict(state.outcomes) for state in states] == [{"http_500": 1, "ok": 1}, {"ok": 1}]


@in_virtual_time
async def test_all_silent_keys_end_in_504_without_a_cooldown() -> None:
    """U12: after 4.5 s. No third key is asked, because no time would be left for it."""
    rig = Rig(dict.fromkeys("abc", up.SILENT))
    result = await rig.ask()
    assert isinstance(result.refused, GatewayTimeout)
    assert result.error.should_retry is False
    assert result.head_at == pytest.approx(4.5)
    assert rig.asked == [("a", 0), ("b", 2.5)]
    assert result.outcomes == ["silent", "silent"]
    assert (await rig.cooling(), rig.failing) == ({}, ["a", "b"])
    assert result.call.prompts_sent == 2
    assert rig.open == []


@in_virtual_time
async def test_at_most_two_keys_are_asked_at_once() -> None:
    """Each of them may bill the request."""
    rig = Rig(dict.fromkeys("abcd", up.SILENT), limits=NORMAL._replace(hedge_after=1))
    result = await rig.ask()
    assert rig.asked == [("a", 0), ("b", 1)]
    assert result.head_at == pytest.approx(4.5)


class SlowStore(MemoryStore):
    async def cooldowns(self) -> Cooldowns:
        await asyncio.sleep(0.3)
        return await super().cooldowns()


@pytest.mark.parametrize("spare", [None, {"spare": up.answer("spare")}])
@in_virtual_time
async def test_answer_that_arrives_while_the_store_is_read_is_taken(
    spare: dict[str, Reply] | None,
) -> None:
    """No other key is asked afterwards."""
    rig = Rig({"a": up.answer("a").late(2.6), "b": up.SILENT}, second=spare, store=SlowStore)
    result = await rig.ask()
    assert (result.text, rig.asked) == ("a", [("a", 0.3)])


@in_virtual_time
async def test_a_key_that_is_refused_with_400_is_replaced_and_not_asked_again() -> None:
    """xAI and Gemini send 400 for a wrong key, where others send 401."""
    refused = Reply(status=400, headers=up.JSON).then(b'{"error":"Incorrect API key provided: a"}')
    rig = Rig({"a": refused, "b": up.answer()})
    for _ in range(2):
        assert (await rig.ask()).whole
    assert secrets(rig) == ["a", "b", "b"]
