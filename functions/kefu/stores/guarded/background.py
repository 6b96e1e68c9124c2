"""Tasks of a guard that go on after the request that started them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


class Background:
    """Runs tasks that may outlive the request that started them. They must not raise."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def aclose(self, grace: float) -> None:
        """Wait up to `grace` seconds for the tasks, then cancel the remaining ones."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
