"""How long a coroutine waits, also on a machine that is too busy for wall times."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

TICK = 0.01


async def waited(work: Awaitable[object]) -> float:
    """Await `work`, and return its seconds by a timer of the same event loop.

    A pause in which a busy machine does not run this process counts as one tick. So a limit of the
    result says how long `work` waits, and not how fast the machine is.
    """
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(TICK)
            ticks += 1

    timer = asyncio.create_task(tick())
    try:
        await work
    finally:
        timer.cancel()
    return ticks * TICK
