"""A circuit breaker for a store: it suspends calls while the store is down or slow.

Without the circuit breaker every chat would wait until its call times out. With the circuit breaker
only the first calls of an outage wait. A single slow call does not open the circuit.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from kefu.errors import StoreUnavailable

T = TypeVar("T")

PATIENCE_SECONDS = 10.0
"""The time limit in seconds for a call that no chat waits for."""

IN_A_ROW = 3
"""Failed calls, one after the other, that open the circuit."""


class Circuit:
    """A circuit breaker. While it is closed, requests call the store.

    After `IN_A_ROW` failures it opens: requests skip the store, and a background task probes it
    every `pause` seconds. The circuit closes after a probe that took less than `timeout`. Guards of
    one store should share a circuit, so that a failure that one of them meets counts for all.
    """

    def __init__(
        self,
        probe: Callable[[], Awaitable[object]],
        *,
        timeout: float,
        on_degraded: Callable[[str], None],
        pause: float = 3.0,
    ) -> None:
        self.timeout = timeout
        """The time limit in seconds for a call that a request waits for."""
        self.is_new = True
        """Whether the store has neither answered nor failed yet."""
        self.on_closed: list[Callable[[], None]] = []
        """Callbacks that are called each time the circuit closes."""
        self._probe = probe
        self._pause = pause
        self._on_degraded = on_degraded
        self._recovery: asyncio.Task[None] | None = None
        self._failures = 0
        self._failed_at = float("-inf")
        self._tasks: set[asyncio.Task[object]] = set()

    @property
    def open(self) -> bool:
        return self._recovery is not None

    async def call(self, what: str, call: Awaitable[T], limit: float | None = None) -> T:
        """Return the result of a call, which is cancelled after `limit` seconds.

        Like `wait`, but without a task: most calls of a local store need none.
        """
        loop = asyncio.get_running_loop()
        limit = self.timeout if limit is None else limit
        with self._judging(what, limit):
            async with asyncio.timeout(None) as waiting:
                # `reschedule`, because a result that has arrived meanwhile comes first.
                end = loop.call_later(limit, waiting.reschedule, loop.time())
                try:
                    return await call
                finally:
                    end.cancel()

    async def wait(self, what: str, call: asyncio.Future[T], limit: float | None = None) -> T:
        """Return the result of a call that ends within `limit` seconds, by default `timeout`.

        Raises StoreUnavailable; also the store's other errors, which are answers. A late
        call goes on. Whether a call is late is decided after the wait: on a busy event loop, the
        result and the end of the time limit arrive together.
        """
        limit = self.timeout if limit is None else limit
        with self._judging(what, limit):
            if not call.done():
                await asyncio.wait({call}, timeout=limit)
            if not call.done():
                raise TimeoutError
            return call.result()

    async def wait_for(self, what: str, task: asyncio.Task[object]) -> None:
        """Wait for a background task, at most `timeout`. A late one counts as failed."""
        if task.done():
            return
        began = asyncio.get_running_loop().time()
        await asyncio.wait({task}, timeout=self.timeout)
        if not task.done():
            self.failed(what, TimeoutError(), began)

    async def succeeds(self, what: str, call: Awaitable[object]) -> bool:
        """Whether a call that no chat waits for succeeds in `PATIENCE_SECONDS`. Raises no error."""
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await call
        except Exception as error:  # noqa: BLE001 - no error of a store may stop a chat
            self.failed(what, error, began, PATIENCE_SECONDS)
            return False
        self.answered(began)
        return True

    @contextmanager
    def _judging(self, what: str, limit: float) -> Iterator[None]:
        """Count the call inside this context. Raises StoreUnavailable for a late call."""
        began = asyncio.get_running_loop().time()
        try:
            yield
        except (StoreUnavailable, TimeoutError) as error:
            self.failed(what, error, began, limit)
            raise StoreUnavailable(f"{what}: {_description(error, limit)}") from error
        except Exception:
            self.answered(began)
            raise
        self.answered(began)

    def answered(self, began: float) -> None:
        """Count a successful call. `began` is a time of the event loop."""
        self.is_new = False
        if asyncio.get_running_loop().time() - began <= self.timeout:
            self._failures = 0

    def failed(
        self, what: str, error: BaseException, began: float, limit: float | None = None
    ) -> None:
        """Count and report a failed call; the third in a row opens the circuit.

        Calls that overlap count as one failure, because one pause of the store delays them all.
        """
        self.is_new = False
        if self.open:
            return
        self._on_degraded(f"{what}: {_description(error, limit or self.timeout)}")
        if began < self._failed_at:
            return
        self._failed_at = asyncio.get_running_loop().time()
        self._failures += 1
        if self._failures >= IN_A_ROW:
            self._failures = 0
            self._recovery = asyncio.create_task(self._recover())

    def start(self, work: Coroutine[object, object, object]) -> asyncio.Task[object]:
        """Start work that may outlive the request that started it. It must not raise."""
        task = started(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def aclose(self) -> None:
        """End the probes. Wait up to `timeout` seconds for other tasks, then cancel them."""
        if self._recovery is not None:
            self._recovery.cancel()
            await asyncio.wait({self._recovery})
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self.timeout)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _recover(self) -> None:
        while not await self._answers_in_time():
            pass
        self._recovery = None
        for callback in self.on_closed:
            callback()

    async def _answers_in_time(self) -> bool:
        await asyncio.sleep(self._pause)
        now = asyncio.get_running_loop().time
        began = now()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._probe()
        except Exception as error:  # noqa: BLE001 - no error of a store may stop the probes
            self._on_degraded(f"still unavailable: {_description(error, PATIENCE_SECONDS)}")
            return False
        if now() - began > self.timeout:
            self._on_degraded("still slow")
            return False
        return True


def started(call: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """A task of a call. Since Python 3.12 a call that does not wait has ended here.

    Calls of a local store rarely wait, and waiting for a task takes as long as the call.
    """
    loop = asyncio.get_running_loop()
    if sys.version_info >= (3, 12):
        task = asyncio.Task(call, loop=loop, eager_start=True)
    else:
        task = loop.create_task(call)
    return task


def _description(error: BaseException, limit: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer in {limit:g} s"
    return str(error) if isinstance(error, StoreUnavailable) else type(error).__name__
