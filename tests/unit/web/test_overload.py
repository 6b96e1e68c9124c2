"""The overload gate, with given delays and with real ones."""

from __future__ import annotations

import asyncio
import time

import pytest

from kefu.web.overload import SAMPLE_SECONDS, WINDOW_SECONDS, DelayGate, Overload
from tests.fakes.relaying import CLOCK, in_virtual_time

TARGET = 0.25
LATE = TARGET + 0.01


def closed_after(*delays: tuple[float, float]) -> bool:
    """Whether the gate is closed after these delays, given as (time, delay)."""
    gate = DelayGate(TARGET)
    for now, delay in delays:
        gate.note(now, delay)
    return gate.closed


def test_a_gate_closes_when_every_delay_of_a_window_was_too_long() -> None:
    assert not closed_after((0, LATE), (WINDOW_SECONDS - 0.01, LATE))
    assert closed_after((0, LATE), (WINDOW_SECONDS / 2, LATE), (WINDOW_SECONDS, LATE))


@pytest.mark.parametrize("pause", [1.0, 600.0])
def test_one_pause_closes_no_gate(pause: float) -> None:
    """A hundred connections waited during one pause, for example while the process was frozen."""
    assert not closed_after(*((pause + number / 1000, pause) for number in range(100)))


def test_a_short_delay_opens_the_gate_at_once_and_begins_a_new_window() -> None:
    assert not closed_after((0, LATE), (WINDOW_SECONDS, LATE), (WINDOW_SECONDS + 0.1, TARGET))
    assert not closed_after(
        (0, LATE), (0.2, 0.0), (WINDOW_SECONDS, LATE), (2 * WINDOW_SECONDS - 0.01, LATE)
    )


def queueing(rate: float, capacity: float, seconds: float) -> list[tuple[float, str]]:
    """Simulate a server with `capacity` requests a second. Returns each wait, and whether it was
    refused.
    """
    gate, free, found = DelayGate(TARGET), 0.0, list[tuple[float, str]]()
    for number in range(int(rate * seconds)):
        arrived = number / rate
        accepted = max(free, arrived)
        gate.note(accepted, accepted - arrived)
        free = accepted + (0.1 if gate.closed else 1.0) / capacity
        found.append((free - arrived, "refused" if gate.closed else "answered"))
    return found


@pytest.mark.parametrize("overload", [1.5, 2.0, 5.0])
def test_beyond_capacity_nobody_waits_long(overload: float) -> None:
    """A refusal takes a tenth of an answer's time. Without a gate the last request would wait 15 s
    at a load of 2.0.
    """
    found = queueing(100 * overload, 100, 30)
    outcomes = [outcome for _, outcome in found]
    assert outcomes.count("answered") >= 0.5 * 100 * 30
    assert max(wait for wait, _ in found) < 1.0 if overload <= 2 else 2.0


def test_below_capacity_nobody_is_refused() -> None:
    assert all(outcome == "answered" for _, outcome in queueing(95, 100, 30))


@in_virtual_time
async def test_only_a_request_that_waited_is_refused_for_its_connection() -> None:
    overload = Overload(CLOCK.monotonic, TARGET)
    assert not overload.refuses(LATE)
    await asyncio.sleep(WINDOW_SECONDS)
    assert overload.refuses(LATE)
    assert not overload.refuses(None), "its connection was accepted long ago"
    assert not overload.refuses(0.0)
    assert not overload.refuses(LATE)


@pytest.mark.slow
async def test_a_loop_that_is_late_again_and_again_refuses_until_it_is_not() -> None:
    overload = Overload(time.monotonic, TARGET)
    watching = asyncio.create_task(overload.watch())
    await asyncio.sleep(0)
    time.sleep(1.0)  # noqa: ASYNC251 - the loop is held up, once
    await asyncio.sleep(0)
    assert not overload.refuses(None)
    for _ in range(4):
        time.sleep(0.5)  # noqa: ASYNC251
        await asyncio.sleep(0.01)
        await asyncio.sleep(0.01)
    assert overload.refuses(None)
    async with asyncio.timeout(30):
        while overload.refuses(None):  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(SAMPLE_SECONDS)
    watching.cancel()
