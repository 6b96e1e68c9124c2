"""The visitor disconnects, or reads nothing: rows C1, C2, C3 and C5 of the fault matrix."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.fakes import behaviours as b
from tests.fakes.asking import conversation
from tests.fakes.raw_client import RawClient, request
from tests.fakes.stage import FAST, UNHURRIED, Stage, stage
from tests.fakes.upstream_connection import Call

MEBI = 1 << 20


@pytest.fixture(scope="module")
def patient() -> Iterator[Stage]:
    """A service with such long time limits that none of them ends a request in these tests."""
    with stage(2, **{**FAST, **UNHURRIED}) as running:
        yield running


async def assert_stopped(running: Stage, call: Call, visitor: RawClient, how: str) -> None:
    """Disconnect, and check that the service closes its upstream request before any time limit."""
    visitor.reset() if how == "reset" else visitor.close()
    assert await running.upstream.until(lambda: call.closed_at is not None)


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("behaviour", [b.silent, b.headers_then_silence], ids=["silent", "head"])
async def test_c1_visitor_who_leaves_before_the_first_byte_stops_the_upstream(
    patient: Stage, question: str, how: str, behaviour: b.Behaviour
) -> None:
    patient.script(behaviour, asking=question)
    visitor = await RawClient.connect(patient.url)
    await visitor.send(request(body=conversation(question)))
    call = await patient.upstream.asked(question)
    await asyncio.sleep(0.05)
    assert visitor.received == b""
    await assert_stopped(patient, call, visitor, how)
    # No other key is tried afterwards.
    await asyncio.sleep(0.8)
    assert len(patient.upstream.calls(question)) == 1


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_c2_visitor_who_leaves_in_the_answer_stops_the_upstream(
    patient: Stage, question: str, how: str
) -> None:
    patient.script(b.drip(100, delay=0.1), asking=question)
    visitor = await RawClient.connect(patient.url)
    await visitor.send(request(body=conversation(question)))
    assert await visitor.until(b"drop")
    call = await patient.upstream.asked(question)
    await assert_stopped(patient, call, visitor, how)
    await asyncio.sleep(0.5)
    assert len(patient.upstream.calls(question)) == 1


async def test_c2_visitor_who_leaves_in_a_silence_stops_the_upstream(
    patient: Stage, question: str
) -> None:
    patient.script(b.stall_after(2), asking=question)
    visitor = await RawClient.connect(patient.url)
    await visitor.send(request(body=conversation(question)))
    assert await visitor.until(b"piece1")
    call = await patient.upstream.asked(question)
    await assert_stopped(patient, call, visitor, "close")


@pytest.mark.parametrize("behaviour", [b.silent, b.drip(100, delay=0.1)], ids=["silent", "drip"])
async def test_c3_visitor_who_leaves_a_buffered_request_stops_the_upstream(
    patient: Stage, question: str, behaviour: b.Behaviour
) -> None:
    patient.script(behaviour, asking=question)
    visitor = await RawClient.connect(patient.url)
    body = conversation(question, stream=False)
    await visitor.send(request("/v1/chat/completions", body))
    call = await patient.upstream.asked(question)
    await asyncio.sleep(0.1)
    await assert_stopped(patient, call, visitor, "close")
    await asyncio.sleep(0.6)
    assert len(patient.upstream.calls(question)) == 1


@pytest.mark.slow
async def test_c5_visitor_who_never_reads_holds_back_the_upstream_and_is_dropped(
    shared: Stage, question: str
) -> None:
    shared.script(b.answer(*["x" * 16_000] * 4000), asking=question)
    before = shared.service.memory
    async with await RawClient.connect(shared.url, receive_buffer=4096) as visitor:
        await visitor.send(request(body=conversation(question)))
        call = await shared.upstream.asked(question)
        await asyncio.sleep(0.8)
        # The kernel's buffers of two connections take less than 24 of the 64 MB.
        held = call.sent
        assert held < 24 * MEBI
        await asyncio.sleep(0.3)
        assert (call.sent, call.closed_at) == (held, None)
        assert shared.service.memory - before < 12 * MEBI
        assert await shared.upstream.until(lambda: call.closed_at is not None)
        assert await visitor.closed(timeout=20)
    assert b"[DONE]" not in visitor.received


async def test_c5_slow_reader_gets_everything(shared: Stage, question: str) -> None:
    """The client's pauses are shorter than the write time-out."""
    shared.script(b.answer(*["y" * 8000] * 250), asking=question)
    async with await RawClient.connect(shared.url, receive_buffer=65536) as visitor:
        await visitor.send(request(body=conversation(question)))
        for _ in range(6):
            await asyncio.sleep(0.3)
            await visitor.read()
        assert await visitor.until(b"data: [DONE]")
    assert visitor.received.count(b"y" * 1000) == 2000
