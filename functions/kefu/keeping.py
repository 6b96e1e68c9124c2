"""How a turn's end is written down without standing in its way.

Before a model is asked, a store that fails means 503: nothing is paid for that could not be kept.
Afterwards the answer goes out whatever the store does, and the writing is tried again behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from kefu.errors import StoreUnavailable

PAUSES = (0.5, 2.0, 8.0)
"""Seconds before each further try."""

WAIT = 1.0
"""Seconds that the end of an answer waits: who hears `[DONE]` may ask the next thing at once, and
that shall find this answer in its history.
"""

ONE_WRITE = 10.0


class Keeper:
    def __init__(
        self,
        on_lost: Callable[[str], None],
        *,
        wait: float = WAIT,
        pauses: Sequence[float] = PAUSES,
    ) -> None:
        """`on_lost` is told what could not be written, in a few words without texts."""
        self._on_lost = on_lost
        self._wait = wait
        self._pauses = pauses
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, what: str, write: Callable[[], Awaitable[object]]) -> asyncio.Task[None]:
        """Write, and go on trying for a while, whoever leaves; the task never raises."""
        task = asyncio.create_task(self._write(what, write))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def wait(self, tasks: Iterable[asyncio.Task[None]], seconds: float | None = None) -> None:
        """For a moment, or as long as is said; then they go on by themselves."""
        if unfinished := {task for task in tasks if not task.done()}:
            await asyncio.wait(unfinished, timeout=self._wait if seconds is None else seconds)

    async def aclose(self) -> None:
        """What is still to be written gets a moment more."""
        await self.wait(set(self._tasks))
        unfinished = list(self._tasks)
        for task in unfinished:
            task.cancel()
        await asyncio.gather(*unfinished, return_exceptions=True)

    async def _write(self, what: str, write: Callable[[], Awaitable[object]]) -> None:
        for pause in (*self._pauses, None):
            try:
                async with asyncio.timeout(ONE_WRITE):
                    await write()
            except (StoreUnavailable, TimeoutError):
                if pause is not None:
                    await asyncio.sleep(pause)
            except Exception as error:  # noqa: BLE001 - a fault of ours; nobody waits to hear of it
                what = f"{what} ({type(error).__name__})"
                break
            else:
                return
        self._on_lost(what)
