"""Calls the store of chats before the request to the model, and in the background after it.

Before the request, a failing store causes a 503: an answer that cannot be saved is not paid for.
After the request, the answer is sent even if the store fails. Its end is saved in the background,
with retries, so that it does not delay the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from kefu.errors import StoreUnavailable, UpstreamUnavailable

T = TypeVar("T")

PAUSES = (0.5, 2.0, 8.0)
"""Seconds before each retry."""

WAIT = 1.0
"""Maximum seconds between the last chunk and `[DONE]`, to wait for the write. The visitor's next
question, which may follow at once, then finds this answer in its history.
"""

ONE_WRITE = 10.0
"""Time limit of one write in seconds."""


class ChatUnsaved(UpstreamUnavailable):
    """The store failed before the request to the model."""


async def before_model(work: Awaitable[T], until: float | None = None) -> T:
    """The result of a store operation that must succeed before the request to the model.

    Raises ChatUnsaved when the store fails, or at `until`, a time of the event loop.
    """
    try:
        async with asyncio.timeout_at(until):
            return await work
    except (StoreUnavailable, TimeoutError) as error:
        message = "The chat cannot be saved right now. Please try again."
        raise ChatUnsaved(message, retry_after=5) from error


class BackgroundWriter:
    def __init__(
        self,
        on_lost: Callable[[str], None],
        *,
        wait: float = WAIT,
        pauses: Sequence[float] = PAUSES,
    ) -> None:
        """`on_lost` receives a short description of each failed write, without message texts."""
        self._on_lost = on_lost
        self._wait = wait
        self._pauses = pauses
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, description: str, write: Callable[[], Awaitable[object]]) -> asyncio.Task[None]:
        """Start a task that calls `write`, with retries. The task never raises.

        The task also goes on when the request is cancelled.
        """
        task = asyncio.create_task(self._write(description, write))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def wait(self, tasks: Iterable[asyncio.Task[None]], seconds: float | None = None) -> None:
        """Wait for the tasks, at most `seconds` (by default `wait`); unfinished tasks continue."""
        if unfinished := {task for task in tasks if not task.done()}:
            await asyncio.wait(unfinished, timeout=self._wait if seconds is None else seconds)

    async def aclose(self) -> None:
        """Wait for the unfinished writes, at most `wait` seconds, then cancel them."""
        await self.wait(set(self._tasks))
        unfinished = list(self._tasks)
        for task in unfinished:
            task.cancel()
        await asyncio.gather(*unfinished, return_exceptions=True)

    async def _write(self, description: str, write: Callable[[], Awaitable[object]]) -> None:
        for pause in (*self._pauses, None):
            try:
                async with asyncio.timeout(ONE_WRITE):
                    await write()
            except (StoreUnavailable, TimeoutError):
                if pause is not None:
                    await asyncio.sleep(pause)
            except Exception as error:  # noqa: BLE001 - a bug; no caller could handle the exception
                description = f"{description} ({type(error).__name__})"
                break
            else:
                return
        self._on_lost(description)
