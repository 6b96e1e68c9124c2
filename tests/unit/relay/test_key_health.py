"""Keys that fail without a cooldown: this process asks them last until they answer well."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

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
async def test_failing_key_is_tried_again_after_thirty_seconds_beside_a_good_one() -> None:
    rig = Rig({"bad": [up.REFUSED, up.answer("mended")], "good": up.answer("good", after=1)})
    await rig.ask()
    await asyncio.sleep(28)
    assert (await rig.ask()).text == "good"
    assert rig.failing == ["bad"]
    await asyncio.sleep(1)
    assert (await rig.ask()).text == "mended"
    assert rig.failing == []


SLOW_SITE = 33.0
"""Seconds between two questions of a small site."""


@pytest.mark.parametrize("silent", [up.SILENT, THINKS])
@in_virtual_time
async def test_r1_on_a_quiet_site_a_silent_key_makes_one_visitor_wait(silent: Reply) -> None:
    """It is tried again meanwhile, less and less often."""
    rig = Rig({"silent": silent, "good": up.answer()})
    waited = []
    for _ in range(100):
        waited.append((await rig.ask()).ended_at)
        await asyncio.sleep(SLOW_SITE)
    assert sum(seconds > 0.1 for seconds in waited) == 1
    tried = [at for secret, at in rig.asked if secret == "silent"]
    assert 5 < len(tried) < 12, "at 30, 60, 120, 240, 480, 600, ... seconds"
    assert tried[-1] - tried[-2] > 540


@pytest.mark.parametrize("every", [SLOW_SITE, 1.0])
@in_virtual_time
async def test_r1_a_key_that_cuts_its_answers_cuts_one_of_a_hundred(every: float) -> None:
    """It is asked when no other key is left, and is good again after a whole answer."""
    rig = Rig({"cuts": [CUT, up.answer("whole")], "good": [up.answer()] * 100 + [up.refusal(429)]})
    results = []
    for _ in range(100):
        results.append(await rig.ask())
        await asyncio.sleep(every)
    assert sum(not result.whole for result in results) == 1
    assert rig.failing == ["cuts"]
    assert (await rig.ask()).text == "hello"
    last = await rig.ask()
    assert (last.text, last.outcomes) == ("whole", ["http_429", "ok"])
    assert rig.failing == []


@in_virtual_time
async def test_r1_one_request_at_a_time_tries_a_failing_key() -> None:
    """Each of these is paid twice at most."""
    rig = Rig({"silent": up.SILENT, "good": up.answer(after=1)})
    await rig.ask()
    await asyncio.sleep(30)
    await asyncio.gather(*(rig.ask() for _ in range(20)))
    assert [secret for secret, _ in rig.asked].count("silent") == 2


@in_virtual_time
async def test_r1_a_key_that_is_tried_again_takes_no_other_key_its_turn() -> None:
    """The good key is silent just then, too: the third one is asked in time."""
    rig = Rig(
        {"a": up.SILENT, "b": [up.answer("b"), up.SILENT], "c": [up.answer("c"), up.answer("c")]}
    )
    assert (await rig.ask()).text == "b"
    assert (await rig.ask()).text == "c"
    await asyncio.sleep(30)
    result = await rig.ask()
    assert result.text == "c"
    assert result.ended_at == pytest.approx(2.5)


@in_virtual_time
async def test_r1_a_request_that_is_tried_once_tries_no_failing_key() -> None:
    rig = Rig({"a": up.REFUSED, "b": up.answer()}, max_retries=0)
    await rig.ask()
    await rig.ask()
    await asyncio.sleep(60)
    await rig.ask()
    assert [secret for secret, _ in rig.asked] == ["a", "b", "b"]


@in_virtual_time
async def test_all_failing_keys_are_still_asked() -> None:
    rig = Rig({"a": [up.REFUSED, up.answer()], "b": up.REFUSED})
    assert (await rig.ask()).error.status == 503
    assert (await rig.ask()).whole


@pytest.mark.parametrize("is_read_whole", [True, False])
@in_virtual_time
async def test_r1_a_key_that_cut_its_answer_is_good_again_after_a_whole_one_alone(
    is_read_whole: bool,
) -> None:
    """Not after one whose visitor left."""
    rig = Rig({"cuts": [CUT, up.STREAM.then(up.text("a")).then(up.STOP, up.DONE, after=1)]})
    await rig.ask()
    assert rig.failing == ["cuts"]
    answer = await rig.relay.start(rig.call())
    async with aclosing(answer), aclosing(answer.batches()) as batches:
        async for _ in batches:
            if not is_read_whole:
                break
    assert rig.failing == ([] if is_read_whole else ["cuts"])
