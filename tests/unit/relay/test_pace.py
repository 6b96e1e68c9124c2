"""R2: a second key is asked beside a silent one by what the upstream usually needs."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kefu.relay.time_limits import NORMAL, Pace
from tests.fakes import in_process_upstream as up
from tests.fakes.relaying import Rig, in_virtual_time


@pytest.mark.parametrize("keys", [2, 5])
@pytest.mark.parametrize("seconds", [2.6, 3.0, 4.0, 4.4])
@in_virtual_time
async def test_r2_a_model_that_always_needs_seconds_is_paid_once_for_an_answer(
    seconds: float, keys: int
) -> None:
    rig = Rig({f"key-{number}": up.answer().late(seconds) for number in range(keys)})
    results = [await rig.ask() for _ in range(40)]
    assert all(result.whole for result in results)
    assert all(result.ended_at == pytest.approx(seconds, abs=0.01) for result in results)
    assert len(rig.asked) <= 41
    assert rig.failing == []


@in_virtual_time
async def test_r2_a_model_whose_pace_varies_is_hedged_for_a_tenth_of_the_requests() -> None:
    slow = [up.answer().late(2.6 + 0.017 * (37 * number % 100)) for number in range(200)]
    rig = Rig({"a": slow, "b": slow, "c": slow})
    results = [await rig.ask() for _ in range(200)]
    assert all(result.whole for result in results)
    assert len(rig.asked) <= 225


@in_virtual_time
async def test_r2_an_upstream_of_which_five_percent_are_slow_is_hedged_for_them() -> None:
    def replies(slow: int) -> list[up.Reply]:
        return [up.answer().late(4 if number % 20 == slow else 0.3) for number in range(200)]

    rig = Rig({"a": replies(7), "b": replies(13)})
    results = [await rig.ask() for _ in range(200)]
    assert all(result.ended_at < 3 for result in results)
    assert len(rig.asked) <= 220


@in_virtual_time
async def test_r2_a_silent_key_is_replaced_also_when_a_tenth_was_hedged() -> None:
    """The hedge comes later then, but in time for an answer."""
    rig = Rig({"a": up.SILENT, "b": up.answer("b")})
    for _ in range(2):
        rig.pool.pace.hedged()
    result = await rig.ask()
    assert (result.text, result.head_at) == ("b", NORMAL.fallback_after)


class InTurn(dict[str, up.Reply]):
    """The replies of one upstream in the order of the requests, whatever their key."""

    def __init__(self, replies: Iterable[up.Reply]) -> None:
        super().__init__(dict.fromkeys("abcd", up.SILENT))
        self._replies = iter(replies)

    def __getitem__(self, key: str) -> up.Reply:
        return next(self._replies)


@in_virtual_time
async def test_r2_ten_requests_save_up_for_one_early_hedge_and_a_hedge_is_counted() -> None:
    hedged, quick = [up.answer().late(4.4), up.answer()], [up.answer()]
    replies = [*hedged * 3, *quick * 20, *hedged * 3, *quick * 8, *hedged, *quick * 9, *hedged]
    rig = Rig(InTurn(replies))
    waits = [(await rig.ask()).head_at for _ in range(3 + 20 + 3 + 8 + 1 + 9 + 1)]
    early, late = NORMAL.hedge_after, NORMAL.fallback_after
    assert [round(wait, 2) for wait in waits if wait > 0] == [
        *[early, early, late],
        *[early, early, late],
        *[late, early],
    ]


def test_r2_the_usual_time_is_the_95th_percentile_of_the_last_twenty() -> None:
    pace = Pace()
    assert pace.hedge_after(NORMAL, again=False) == NORMAL.hedge_after
    for _ in range(100):
        pace.answered(9.0)
    for number in range(20):
        pace.answered(3.0 if number < 19 else 4.4)
    usual = pytest.approx(3.3)
    assert pace.hedge_after(NORMAL, again=False) == usual
    pace.hedged()
    assert pace.hedge_after(NORMAL, again=False) == usual
    pace.hedged()
    assert pace.hedge_after(NORMAL, again=False) == NORMAL.fallback_after
    assert pace.hedge_after(NORMAL, again=True) == usual
    for _ in range(10):
        pace.begin()
    assert pace.hedge_after(NORMAL, again=False) == usual
