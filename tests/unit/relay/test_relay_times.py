"""The relay's time limits before the first event of an answer, and the time of its headers."""

from __future__ import annotations

import itertools

import pytest

from kefu.errors import GatewayTimeout, RateLimited
from kefu.relay.key_pool import Reason
from kefu.relay.time_limits import SLOW
from tests.fakes import in_process_upstream as up
from tests.fakes.in_process_upstream import Reply
from tests.fakes.relaying import Rig, in_virtual_time

THINKS = up.STREAM.then_silence()
"""Headers at once, then nothing."""


@in_virtual_time
async def test_only_key_has_the_whole_budget_for_its_headers() -> None:
    """A model that needs 3 s until its headers answers after 3 s."""
    rig = Rig({"only": up.answer("slow").late(3)})
    result = await rig.ask()
    assert (result.text, result.whole) == ("slow", True)
    assert result.head_at == pytest.approx(3)


@pytest.mark.parametrize(("seconds", "status"), [(4.4, None), (4.6, 504)])
@in_virtual_time
async def test_u12_budget_for_the_first_byte_is_4_5_seconds(
    seconds: float, status: int | None
) -> None:
    result = await Rig({"only": up.answer().late(seconds)}).ask()
    assert result.head_at == pytest.approx(min(seconds, 4.5))
    assert (result.refused and result.refused.status) == status


@in_virtual_time
async def test_last_key_has_the_rest_of_the_budget() -> None:
    """Two keys failed at once. The third may take longer than the limit of one attempt."""
    rig = Rig({"a": up.REFUSED, "b": up.refusal(500).late(0.5), "c": up.answer("c").late(3.9)})
    result = await rig.ask()
    assert result.text == "c"
    assert result.head_at == pytest.approx(4.4)


@in_virtual_time
async def test_last_key_that_may_be_tried_has_the_rest_of_the_budget() -> None:
    """There are other keys, but no retries are left."""
    rig = Rig({"a": up.answer("a").late(4), "b": up.SILENT}, max_retries=0)
    result = await rig.ask()
    assert (result.text, rig.asked) == ("a", [("a", 0)])
    assert result.head_at == pytest.approx(4)


@in_virtual_time
async def test_last_key_that_does_not_cool_down_has_the_rest_of_the_budget() -> None:
    rig = Rig({"a": up.answer("a").late(4), "b": up.answer("b")})
    await rig.cool("b", 60, Reason.INVALID)
    assert (await rig.ask()).text == "a"
    assert rig.asked == [("a", 0)]


@pytest.mark.parametrize("keys", [1, 2, 3])
@in_virtual_time
async def test_model_that_needs_3_seconds_answers_in_3_with_any_number_of_keys(keys: int) -> None:
    """The second key is asked beside the first, and is closed when the first one answers."""
    rig = Rig({f"key-{number}": up.answer("slow").late(3) for number in range(keys)})
    result = await rig.ask()
    assert (result.text, result.whole) == ("slow", True)
    assert result.head_at == pytest.approx(3)
    assert rig.asked == [("key-0", 0), ("key-1", 2.5)][:keys]
    assert [one.closed_at for one in rig.exchanges[1:]] == [pytest.approx(3)] * (len(rig.asked) - 1)
    assert result.outcomes == [*["overtaken"] * (len(rig.asked) - 1), "ok"]
    assert rig.failing == []
    assert result.call.prompts_sent == len(rig.asked)


@pytest.mark.parametrize(("seconds", "text"), [(2.4, "first"), (2.6, "second"), (3.4, "second")])
@in_virtual_time
async def test_u12_silent_key_is_joined_after_2_5_seconds_by_the_next(
    seconds: float, text: str
) -> None:
    """The first content wins. The other connection is closed at the same moment."""
    rig = Rig({"first": up.answer("first").late(seconds), "second": up.answer("second")})
    result = await rig.ask()
    assert (result.text, result.whole) == (text, True)
    if text == "second":
        assert rig.asked == [("first", 0), ("second", 2.5)]
        assert rig.upstream.exchanges[0].closed_at == pytest.approx(2.5)
        assert result.outcomes == ["silent", "ok"]
        assert rig.failing == ["first"]
        assert await rig.cooling() == {}
    assert rig.open == []


@in_virtual_time
async def test_hedged_key_that_fails_is_replaced_while_the_silent_one_is_waited_for() -> None:
    replies = {"a": up.answer("a").late(4), "b": up.refusal(429).late(0.3), "c": up.SILENT}
    rig = Rig({**replies, "d": up.SILENT})
    result = await rig.ask()
    assert result.text == "a"
    assert result.head_at == pytest.approx(4)
    assert rig.asked == [("a", 0), ("b", 2.5), ("c", 2.8)]
    assert result.outcomes == ["http_429", "overtaken", "ok"]


@in_virtual_time
async def test_first_key_that_fails_leaves_the_hedged_one_its_time() -> None:
    """At most two keys are asked at once; a third one is asked when the hedged one is
    silent, too.
    """
    rig = Rig({"a": up.refusal(500).late(3), "b": up.answer("b").late(1.5), "c": up.answer("c")})
    result = await rig.ask()
    assert result.text == "b"
    assert rig.asked == [("a", 0), ("b", 2.5)]


@in_virtual_time
async def test_two_answers_at_the_same_moment_are_one_answer() -> None:
    rig = Rig({"a": up.answer("a").late(3), "b": up.answer("b").late(0.5)})
    result = await rig.ask()
    assert result.text in ("a", "b")
    assert result.whole
    assert rig.open == []


@in_virtual_time
async def test_time_before_the_relay_was_called_counts() -> None:
    """The time budget begins with the client's request."""
    rig = Rig({"a": up.SILENT, "b": up.SILENT})
    result = await rig.ask(rig.call(waited=1.5))
    assert result.head_at == pytest.approx(3)
    assert rig.asked == [("a", 0), ("b", 2.5)]


@in_virtual_time
async def test_headers_go_out_2_5_seconds_after_the_clients_request() -> None:
    rig = Rig({"only": up.answer(after=6)})
    result = await rig.ask(rig.call(waited=1.7))
    assert result.head_at == pytest.approx(0.8)
    assert result.pings == [0.8, 3.3, 5.8]


@in_virtual_time
async def test_request_that_comes_too_late_asks_and_pays_nobody() -> None:
    rig = Rig({"a": up.answer().late(1), "b": up.answer()})
    result = await rig.ask(rig.call(waited=5))
    assert isinstance(result.refused, GatewayTimeout)
    assert result.head_at == pytest.approx(0)
    assert rig.asked == []


@pytest.mark.parametrize(
    ("reply", "head_at", "pings"),
    [
        (up.answer(), 0, []),
        (up.answer(after=1), 1, []),
        (up.answer(after=2.4), 2.4, []),
        (up.answer(after=6), 2.5, [2.5, 5.0]),
        (up.answer(after=9.9), 2.5, [2.5, 5.0, 7.5]),
        (up.answer(after=1).late(1), 2, []),
        (up.answer(after=3).late(3), 3.25, [3.25, 5.75]),
        (up.answer(after=0.2).late(3), 3.2, []),
        (up.answer(after=3).late(1), 2.5, [2.5]),
    ],
)
@in_virtual_time
async def test_u13_headers_go_out_with_the_first_event_or_after_2_5_seconds(
    reply: Reply, head_at: float, pings: list[float]
) -> None:
    """Without an event the headers wait for an upstream's status 200. After that, pings follow."""
    result = await Rig({"only": reply}).ask()
    assert result.head_at == pytest.approx(head_at)
    assert result.pings == pings
    assert (result.text, result.whole) == ("hello", True)
    assert result.ended_at == pytest.approx(
        sum(after for after, _ in reply.parts) + reply.headers_after
    )
    assert result.call.first_event_at == pytest.approx(result.ended_at)


@in_virtual_time
async def test_headers_wait_while_only_a_refusal_is_being_read() -> None:
    """The first upstream has failed after its headers. They do not count for the second key."""
    lost = up.STREAM.then(up.LOST, after=2)
    rig = Rig({"a": lost, "b": up.answer(after=0.5).late(1.5)})
    result = await rig.ask()
    assert result.head_at == pytest.approx(3.75)
    assert result.pings == [3.75]
    assert result.text == "hello"
    assert result.ended_at == pytest.approx(4)


@in_virtual_time
async def test_error_right_after_late_headers_still_has_its_status() -> None:
    late = up.STREAM.then(up.ROLE).then(up.in_band(code=429), after=0.2).late(3)
    result = await Rig({"only": late}).ask()
    assert isinstance(result.refused, RateLimited)


@in_virtual_time
async def test_time_after_a_lost_200_is_again_that_of_the_first_byte() -> None:
    rig = Rig({"a": up.STREAM.then(up.LOST, after=2), "b": up.SILENT})
    result = await rig.ask()
    assert isinstance(result.refused, GatewayTimeout)
    assert result.head_at == pytest.approx(4.5)


@in_virtual_time
async def test_u13_after_ten_seconds_of_thinking_the_next_key_is_asked_beside() -> None:
    rig = Rig({"a": THINKS, "b": up.answer("b", after=1)})
    result = await rig.ask()
    assert result.head_at == pytest.approx(2.5)
    assert rig.asked == [("a", 0), ("b", 10)]
    assert rig.upstream.exchanges[0].closed_at == pytest.approx(11)
    assert (result.text, result.whole, result.outcomes) == ("b", True, ["no_event", "ok"])
    assert result.pings == [2.5, 5.0, 7.5, 10.0]
    assert result.ended_at == pytest.approx(11)
    assert (await rig.cooling(), rig.failing) == ({}, ["a"])
    assert result.call.prompts_sent == 2


@in_virtual_time
async def test_model_that_thinks_for_12_seconds_answers_though_another_was_asked() -> None:
    rig = Rig({"a": up.answer("a", after=12), "b": up.answer("b", after=12)})
    result = await rig.ask()
    assert (result.text, result.whole) == ("a", True)
    assert result.ended_at == pytest.approx(12)
    assert result.outcomes == ["overtaken", "ok"]


@pytest.mark.parametrize("seconds", [12.0, 30.0, 60.0, 119.0])
@pytest.mark.parametrize("role_first", [False, True])
@in_virtual_time
async def test_first_content_may_take_until_the_longest_duration(
    seconds: float, role_first: bool
) -> None:
    """There is no other key, and pings keep the client waiting."""
    reply = up.STREAM.then(up.ROLE) if role_first else up.STREAM
    rig = Rig({"only": reply.then(up.text("thought"), after=seconds).then(up.STOP, up.DONE)})
    result = await rig.ask()
    assert (result.text, result.whole) == ("thought", True)
    assert result.ended_at == pytest.approx(seconds)
    times = [0.0, *result.pings, seconds]
    assert max(b - a for a, b in itertools.pairwise(times)) <= 2.51


@pytest.mark.parametrize(
    ("keys", "asked", "seconds"), [(1, [0], 120.0), (2, [0, 10], 120.0), (4, [0, 10, 20], 30.0)]
)
@in_virtual_time
async def test_u13_thinking_that_never_ends_is_cut_at_the_longest_duration(
    keys: int, asked: list[float], seconds: float
) -> None:
    """There is a ping every 2.5 s until then, and at most two keys are asked at the same time.

    R4: three keys that think for ten seconds each are enough.
    """
    rig = Rig({f"key-{number}": THINKS for number in range(keys)})
    result = await rig.ask()
    assert isinstance(result.broken, GatewayTimeout)
    assert [at for _, at in rig.asked] == asked
    assert result.ended_at == pytest.approx(seconds)
    gaps = [b - a for a, b in itertools.pairwise([*result.pings, seconds])]
    assert max(gaps) <= 2.51
    assert rig.open == []


@in_virtual_time
async def test_comments_before_the_content_are_not_content() -> None:
    pinging = up.STREAM.then(*[b": ping\n\n"] * 20, after=1)
    rig = Rig({"a": pinging, "b": up.answer("b")})
    result = await rig.ask()
    assert result.text == "b"
    assert rig.asked == [("a", 0), ("b", 10)]


@in_virtual_time
async def test_silent_key_is_given_up_though_pings_flow() -> None:
    """A key that is asked after the headers were sent has 4.5 s for its own headers."""
    rig = Rig({"a": up.STREAM.then(up.LOST, after=6), "b": up.SILENT})
    result = await rig.ask()
    assert isinstance(result.broken, GatewayTimeout)
    assert rig.asked == [("a", 0), ("b", 6)]
    assert result.ended_at == pytest.approx(10.5)


@in_virtual_time
async def test_error_after_headers_is_that_of_the_last_key() -> None:
    rig = Rig({"a": up.STREAM.then(up.LOST, after=6), "b": up.refusal(429)})
    result = await rig.ask()
    assert isinstance(result.broken, RateLimited)
    assert (result.error.retry_after, result.error.should_retry) == (1, False)
    assert await rig.cooling() == {"b": (Reason.RATE_LIMITED, 60)}


@in_virtual_time
async def test_slow_model_is_waited_for_before_its_headers_with_pings() -> None:
    """`KEFU_PATIENCE=slow`: the client receives a byte after 2.5 s, which the widget needs."""
    rig = Rig({"only": up.answer("deep").late(80)}, limits=SLOW)
    result = await rig.ask()
    assert (result.text, result.whole) == ("deep", True)
    assert result.head_at == pytest.approx(2.5)
    times = [*result.pings, 80.0]
    assert max(b - a for a, b in itertools.pairwise(times)) <= 2.51


@in_virtual_time
async def test_slow_model_that_stays_silent_ends_in_a_timeout() -> None:
    rig = Rig({"a": up.SILENT, "b": up.SILENT}, limits=SLOW)
    result = await rig.ask()
    assert isinstance(result.broken, GatewayTimeout)
    assert rig.asked == [("a", 0), ("b", 15)]
    assert result.ended_at == pytest.approx(105)


@in_virtual_time
async def test_error_of_a_slow_model_within_2_5_seconds_has_its_status() -> None:
    result = await Rig({"only": up.refusal(429)}, limits=SLOW).ask()
    assert isinstance(result.refused, RateLimited)
