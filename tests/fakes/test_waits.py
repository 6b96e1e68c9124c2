from __future__ import annotations

import asyncio
import time

from tests.fakes.waits import waited


async def test_a_wait_is_counted_and_a_pause_of_the_process_is_not() -> None:
    async def paused() -> None:
        time.sleep(0.3)  # noqa: ASYNC251 - as on a machine that runs other processes

    assert await waited(asyncio.sleep(0.3)) > 0.02
    assert await waited(paused()) < 0.1
