"""The visitor leaves, or does not read: rows C1, C2, C3 and C5 of the fault matrix."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.fakes import behaviours as b
from tests.fakes.asking import conversation
from tests.fakes.raw_client import RawClient, request
from tests.fakes.stage import Stage
from tests.fakes.upstream_connection import Call

MEBI = 1 << 20


async def seen_leaving(running: Stage, call: Call, visitor: RawClient, how: str) -> float:
    """Leave, and say how many seconds later the upstream saw its connection closed."""
    left = time.monotonic()
    visitor.reset() if how == "reset" else visitor.close()
    assert await running.upstream.until(lambda: call.closed_at is not None, 2)
    assert call.closed_at is not None
    return call.closed_at - left


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("behaviour", [b.silent, b.headers_then_silence], ids=["silent", "head"])
async def test_c1_visitor_who_leaves_before_the_first_byte_stops_the_upstream(
    shared: Stage, question: str, how: str, behaviour: b.Behaviour
) -> None:
    shared.script(behaviour, asking=question)
    visitor = await RawClient.connect(shared.url)
    await visitor.send(request(body=conversation(question)))
    call = await shared.upstream.asked(question)
    await asyncio.sleep(0.05)
    assert visitor.received == b""
    assert await seen_leaving(shared, call, visitor, how) < 0.5
    # Longer than a try may take: nobody tries the next key.
    await asyncio.sleep(0.8)
    assert len(shared.upstream.calls(question)) == 1


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_c2_visitor_who_leaves_in_the_answer_stops_the_upstream(
    shared: Stage, question: str, how: str
) -> None:
    shared.script(b.drip(100, delay=0.1), asking=question)
    visitor = await RawClient.connect(shared.url)
    await visitor.send(request(body=conversation(question)))
    assert await visitor.until(b"drop")
    call = await shared.upstream.asked(question)
    assert await seen_leaving(shared, call, visitor, how) < 0.5
    await asyncio.sleep(0.5)
    assert len(shared.upstream.calls(question)) == 1


async def test_c2_visitor_who_leaves_in_a_silence_stops_the_upstream(
    shared: Stage, question: str
) -> None:
    shared.script(b.stall_after(2), asking=question)
    visitor = await RawClient.connect(shared.url)
    await visitor.send(request(body=conversation(question)))
    assert await visitor.until(b"piece1")
    call = await shared.upstream.asked(question)
    assert await seen_leaving(shared, call, visitor, "close") < 0.5


@pytest.mark.parametrize("behaviour", [b.silent, b.drip(100, delay=0.1)], ids=["silent", "drip"])
async def test_c3_visitor_who_leaves_a_buffered_request_stops_the_upstream(
    shared: Stage, question: str, behaviour: b.Behaviour
) -> None:
    shared.script(behaviour, asking=question)
    visitor = await RawClient.connect(shared.url)
    body = conversation(question, stream=False)
    await visitor.send(request("/v1/chat/completions", body))
    call = await shared.upstream.asked(question)
    await asyncio.sleep(0.1)
    assert await seen_leaving(shared, call, visitor, "close") < 0.5
    await asyncio.sleep(0.6)
    assert len(shared.upstream.calls(question)) == 1


async def test_c5_visitor_who_never_reads_holds_back_the_upstream_and_is_dropped(
    shared: Stage, question: str
) -> None:
    shared.script(b.answer(*["x" * 16_000] * 4000), asking=question)
    before = shared.service.memory
    async with await RawClient.connect(shared.url, receive_buffer=4096) as visitor:
        await visitor.send(request(body=conversation(question)))
        call = await shared.upstream.asked(question)
        await asyncio.sleep(0.8)
        # What fits into the kernel's buffers of two connections, of 64 MB.
        held = call.sent
        assert held < 24 * MEBI
        await asyncio.sleep(0.3)
        assert (call.sent, call.closed_at) == (held, None)
        assert shared.service.memory - before < 12 * MEBI
        assert await shared.upstream.until(lambda: call.closed_at is not None, 2.5)
        assert call.closed_at is not None
        assert call.closed_at - call.asked_at < 1.5 + 1.0
        assert await visitor.closed(timeout=3)
    assert b"[DONE]" not in visitor.received


async def test_c5_slow_reader_gets_everything(shared: Stage, question: str) -> None:
    """It pauses, but never as long as the write timeout."""
    shared.script(b.answer(*["y" * 8000] * 500), asking=question)
    async with await RawClient.connect(shared.url, receive_buffer=65536) as visitor:
        await visitor.send(request(body=conversation(question)))
        for _ in range(6):
            await asyncio.sleep(0.3)
            await visitor.read()
        assert await visitor.until(b"data: [DONE]")
    assert visitor.received.count(b"y" * 1000) > 3000
