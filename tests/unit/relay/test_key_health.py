"""Keys that fail without a cooldown: for 30 seconds this process asks them last."""

from __future__ import annotations

import asyncio

import pytest

from tests.fakes import in_process_upstream as up
from tests.fakes.in_process_upstream import Reply
from tests.fakes.relaying import CLOCK, Result, Rig, in_virtual_time

THINKS = up.STREAM.then_silence()
CUT = up.STREAM.then(up.text("a"), up.LOST)
STALLED = up.STREAM.then(up.text("a")).then_silence()


async def hundred(rig: Rig) -> list[Result]:
    return [await rig.ask() for _ in range(100)]


@pytest.mark.parametrize("silent", [up.SILENT, THINKS])
@in_virtual_time
async def test_silent_key_makes_at_most_two_of_a_hundred_requests_wait(silent: Reply) -> None:
    rig = Rig({"silent": silent, "good": up.answer()})
    results = await hundred(rig)
    assert all(result.whole for result in results)
    assert sum(result.ended_at > 1 for result in results) <= 2


@in_virtual_time
async def test_two_silent_keys_of_three_make_at_most_two_requests_wait() -> None:
    rig = Rig({"a": up.SILENT, "b": up.answer(), "c": up.SILENT})
    results = await hundred(rig)
    assert sum(result.ended_at > 1 for result in results) <= 2


@pytest.mark.parametrize(
    "broken", [CUT, STALLED, up.STREAM.then(up.text("a"), up.in_band(code=500))]
)
@in_virtual_time
async def test_key_whose_answers_break_off_cuts_at_most_two_of_a_hundred(broken: Reply) -> None:
    rig = Rig({"broken": broken, "good": up.answer()})
    results = await hundred(rig)
    assert sum(not result.whole for result in results) <= 2
    assert await rig.cooling() == {}, "other processes may use the key"


@pytest.mark.parametrize("reply", [up.REFUSED, up.RESET, up.STREAM.then(up.LOST), CUT, up.SILENT])
@in_virtual_time
async def test_failing_key_is_shown_with_its_outcomes(reply: Reply) -> None:
    rig = Rig({"bad": reply, "good": up.answer()})
    result = await rig.ask()
    bad, good = rig.pool.states(await rig.store.cooldowns(), CLOCK.now())
    assert (bad.status, good.status) == ("failing", "active")
    assert bad.seconds_left > 25
    assert result.call.attempts[0].failing


@in_virtual_time
async def test_failing_key_is_asked_last_and_not_out() -> None:
    """It answers while the other key cools down."""
    rig = Rig({"bad": [up.REFUSED, up.answer("bad")], "good": [up.answer(), up.refusal(429)]})
    assert (await rig.ask()).whole
    result = await rig.ask()
    assert (result.text, result.outcomes) == ("bad", ["http_429", "ok"])


@in_virtual_time
async def test_key_is_asked_first_again_after_thirty_seconds() -> None:
    rig = Rig({"bad": [up.REFUSED, up.answer("mended")], "good": up.answer("good")})
    await rig.ask()
    await asyncio.sleep(29)
    assert (await rig.ask()).text == "good"
    await asyncio.sleep(1)
    assert (await rig.ask()).text == "mended"


@in_virtual_time
async def test_all_failing_keys_are_still_asked() -> None:
    rig = Rig({"a": [up.REFUSED, up.answer()], "b": up.REFUSED})
    assert (await rig.ask()).error.status == 503
    assert (await rig.ask()).whole
