"""More requests than the processor can serve: they are refused at once instead of answered late."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.fakes import behaviours as b
from tests.fakes.asking import Answer, get
from tests.fakes.fixtures import Staged
from tests.fakes.stage import UNHURRIED, Stage

PAUSE = 1.5


@contextmanager
def paused(running: Stage) -> Iterator[None]:
    """The process is stopped, so that its new connections wait in the kernel's queue."""
    running.service.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        running.service.process.send_signal(signal.SIGCONT)


async def asked_in_a_pause(running: Stage, count: int) -> list[Answer]:
    with paused(running):
        asking = [asyncio.create_task(running.ask()) for _ in range(count)]
        await asyncio.sleep(PAUSE)
    return await asyncio.gather(*asking)


@pytest.mark.slow
async def test_chats_that_wait_again_and_again_are_refused_and_one_pause_refuses_nobody(
    staged: Staged,
) -> None:
    running = staged(1, overload_delay=0.25, **UNHURRIED)
    running.script(b.answer("hi"))
    # Few, so that a busy machine accepts them all within the window of half a second.
    assert all(answer.complete for answer in await asked_in_a_pause(running, 3))
    calls = len(running.upstream.journal)
    refused = await asked_in_a_pause(running, 20)
    assert len(running.upstream.journal) == calls
    for answer in refused:
        assert (answer.status, answer.error["code"]) == (503, "upstream_service_unavailable")
        assert answer.headers["Retry-After"] == "1"
        assert answer.headers["Access-Control-Allow-Origin"]
    # Other requests than chats are answered during an overload. A moment without delay ends it.
    assert (await get(running.url, "/health")).status_code == 200
    async with asyncio.timeout(30):
        while not (await running.ask()).complete:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    lines = [line for line in running.service.logs() if line.get("refused") == "overload"]
    assert len(lines) >= 20
