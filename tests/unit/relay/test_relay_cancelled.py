"""C1, C2: a cancelled request closes its upstream connections at once, in every state.

They are closed before the caller's task ends, because on Lambda the event loop stops then.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from kefu.relay.chunks import Chunk
from tests.fakes import in_process_upstream as up
from tests.fakes.in_process_upstream import Reply
from tests.fakes.relaying import Rig, in_virtual_time

THINKS = up.STREAM.then_silence()
THREE = up.STREAM.then(up.text("a"), up.text("b"), up.text("c"))


@pytest.mark.parametrize(
    ("reply", "leaves_at"),
    [
        (up.SILENT, 1.0),
        (THINKS, 1.0),
        (Reply((), 500, up.JSON).then_silence(), 0.5),
        (up.REFUSED.late(9), 1.0),
    ],
)
@in_virtual_time
async def test_c1_caller_who_leaves_before_headers_closes_the_connection(
    reply: Reply, leaves_at: float
) -> None:
    """No other key is asked."""
    rig = Rig({"a": reply, "b": up.answer()})
    asking = asyncio.create_task(rig.ask())
    await asyncio.sleep(leaves_at)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    [exchange] = rig.upstream.exchanges
    assert exchange.closed_at == pytest.approx(leaves_at, abs=0.02)
    await asyncio.sleep(60)
    assert len(rig.asked) == 1


@pytest.mark.parametrize("wait", [0.0, 3.0])
@in_virtual_time
async def test_c2_caller_who_leaves_in_an_answer_closes_the_connection(wait: float) -> None:
    """Also if the caller is cancelled between two chunks that are ready."""
    rig = Rig({"only": THREE.then_silence()})
    answer = await rig.relay.start(rig.call())
    batches = answer.batches()
    assert await anext(batches)
    if wait:
        waiting = asyncio.create_task(_read_on(batches))
        await asyncio.sleep(wait)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    await batches.aclose()
    assert rig.upstream.exchanges[0].closed_at == pytest.approx(wait)


async def _read_on(batches: AsyncIterator[list[Chunk]]) -> None:
    async for _ in batches:
        pass


@in_virtual_time
async def test_c2_caller_who_leaves_between_pings_closes_the_connection() -> None:
    """The relay was still waiting for the first event. No other key is asked."""
    rig = Rig({"only": up.STREAM.then_silence(), "never": up.answer()})
    answer = await rig.relay.start(rig.call())
    batches = answer.batches()
    assert await anext(batches) == []
    await batches.aclose()
    assert rig.upstream.exchanges[0].closed_at == pytest.approx(2.5, abs=0.02)
    await asyncio.sleep(60)
    assert len(rig.asked) == 1


@pytest.mark.parametrize("reply", [THREE.then_silence(), up.STREAM.then_silence()])
@in_virtual_time
async def test_answer_that_nobody_reads_can_be_closed(reply: Reply) -> None:
    rig = Rig({"only": reply})
    answer = await rig.relay.start(rig.call())
    await answer.aclose()
    assert rig.open == []


@pytest.mark.parametrize("reply", [up.SILENT, THINKS, THREE.then_silence()])
@in_virtual_time
async def test_caller_who_is_cancelled_again_while_closing_still_closes_the_connection(
    reply: Reply,
) -> None:
    rig = Rig({"only": reply})
    asking = asyncio.create_task(rig.ask())
    await asyncio.sleep(1)
    for _ in range(3):
        asking.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.sleep(0.01)
    assert rig.open == []


@in_virtual_time
async def test_attempts_that_the_caller_cut_short_are_in_the_log() -> None:
    """With two keys asked at once both are in the log, and neither counts as failed."""
    rig = Rig({"a": up.SILENT, "b": up.SILENT})
    call = rig.call()
    asking = asyncio.create_task(rig.ask(call))
    await asyncio.sleep(3)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    found = [(attempt.outcome, round(attempt.seconds, 2)) for attempt in call.attempts]
    assert found == [("cancelled", 3), ("cancelled", 0.5)]
    assert (rig.open, rig.failing) == ([], [])
    assert call.prompts_sent == 2
