"""How a turn is written down without ever standing in its way.

Before a model is asked, a store that fails or is slow means 503: nothing is paid for that could not
be kept. Afterwards the answer goes out whatever the store does, and the writing is tried again
behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kefu.errors import StoreUnavailable, UpstreamUnavailable

T = TypeVar("T")

PAUSES = (0.5, 2.0, 8.0)
"""Seconds before each further try to write down how a turn ended."""


@dataclass(frozen=True, slots=True)
class StorePatience:
    before: float = 2.5
    """Seconds for all that a store is asked before the model."""
    after: float = 1.0
    """Seconds that the end of an answer waits for its writing."""
    one_write: float = 5.0


class Keeper:
    def __init__(
        self,
        on_lost: Callable[[str], None],
        patience: StorePatience | None = None,
        pauses: Sequence[float] = PAUSES,
    ) -> None:
        """`on_lost` is told what could not be written, in a few words without texts."""
        self._on_lost = on_lost
        self._patience = patience or StorePatience()
        self._pauses = pauses
        self._tasks: set[asyncio.Task[None]] = set()

    async def first(self, work: Awaitable[T]) -> T:
        """What must be had before a model is asked. Raises UpstreamUnavailable."""
        try:
            async with asyncio.timeout(self._patience.before):
                return await work
        except (StoreUnavailable, TimeoutError) as error:
            message = "The chat cannot be kept right now. Please try again."
            raise UpstreamUnavailable(message, retry_after=5) from error

    def later(self, what: str, write: Callable[[], Awaitable[object]]) -> asyncio.Task[None]:
        """Begin to write, and go on trying; the task never raises."""
        return self._begin(self._write(what, write))

    async def wait(self, tasks: Iterable[asyncio.Task[None]]) -> None:
        """For a moment; then they go on by themselves."""
        unfinished = {task for task in tasks if not task.done()}
        if unfinished:
            await asyncio.wait(unfinished, timeout=self._patience.after)

    async def aclose(self, grace: float = 2.0) -> None:
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=grace)
        for task in set(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _write(self, what: str, write: Callable[[], Awaitable[object]]) -> None:
        for pause in (*self._pauses, None):
            try:
                async with asyncio.timeout(self._patience.one_write):
                    await write()
            except (StoreUnavailable, TimeoutError):
                if pause is None:
                    break
                await asyncio.sleep(pause)
            else:
                return
        self._on_lost(what)
