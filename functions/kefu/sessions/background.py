"""Saves the end of a turn in the background, with retries, so that it does not delay the answer.

Before the request to the model, a failing store causes a 503: an answer that cannot be saved is not
paid for. After the request, the answer is sent even if the store fails.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from types import coroutine
from typing import Any, TypeVar

from kefu.errors import StoreUnavailable

T = TypeVar("T")

PAUSES = (0.5, 2.0, 8.0)
"""Seconds before each retry."""

WAIT = 1.0
"""Maximum seconds between the last chunk and `[DONE]`, to wait for the write. The visitor's next
question, which may follow at once, then finds this answer in its history.
"""

ONE_WRITE = 10.0
"""Time limit of one write in seconds."""


def started(call: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
    """Run a call up to its first wait, and make a task for the rest, if there is any.

    The calls of a local store rarely wait, and a task for each takes as long as the call.

    Up to its first wait, a call must not ask for the current task, as `asyncio.timeout` does:
    before Python 3.12 it would get the caller's.
    """
    loop = asyncio.get_running_loop()
    if sys.version_info >= (3, 12):
        return asyncio.Task(call, loop=loop, eager_start=True)
    ended: asyncio.Future[T] = loop.create_future()
    try:
        waits_for = call.send(None)
    except StopIteration as end:
        ended.set_result(end.value)
    except Exception as error:  # noqa: BLE001 - whoever awaits the call gets it
        ended.set_exception(error)
    else:
        return loop.create_task(_rest(call, waits_for))
    return ended


@coroutine
def _rest(call: Coroutine[Any, Any, T], waits_for: Any) -> Generator[Any, Any, T]:
    """Go on with a call that waits."""
    while True:
        try:
            try:
                value = yield waits_for
            except BaseException as error:  # noqa: BLE001 - such as a cancellation
                waits_for = call.throw(error)
            else:
                waits_for = call.send(value)
        except StopIteration as end:
            result: T = end.value
            return result


async def within(limit: float, call: Coroutine[Any, Any, T]) -> T:
    """The result of a call, which is cancelled after `limit` seconds. Raises TimeoutError.

    A result that arrives together with the end of the time limit, on a busy event loop, is not
    late.
    """
    result = started(call)
    try:
        if not result.done():
            await asyncio.wait({result}, timeout=limit)
        if result.done():
            return result.result()
    finally:
        result.cancel()
    raise TimeoutError


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
        self._tasks: set[asyncio.Future[None]] = set()

    def begin(
        self, description: str, write: Callable[[], Coroutine[Any, Any, object]]
    ) -> asyncio.Future[None]:
        """Call `write`, with retries, in the background if it waits. The result never raises.

        It also goes on when the request is cancelled.
        """
        task = started(self._write(description, write))
        if not task.done():
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return task

    async def wait(
        self, tasks: Iterable[asyncio.Future[None]], seconds: float | None = None
    ) -> None:
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

    async def _write(
        self, description: str, write: Callable[[], Coroutine[Any, Any, object]]
    ) -> None:
        for pause in (*self._pauses, None):
            try:
                await within(ONE_WRITE, write())
            except (StoreUnavailable, TimeoutError):
                if pause is not None:
                    await asyncio.sleep(pause)
            except Exception as error:  # noqa: BLE001 - a bug; no caller could handle the exception
                description = f"{description} ({type(error).__name__})"
                break
            else:
                return
        self._on_lost(description)
