"""Calls the functions of hooks, so that none can block the server or end a chat.

A plain function runs in a thread of its own. A thread cannot be ended, so a function that hangs
keeps its thread, and there is a limit for their number. The site's `async` functions share an event
loop in one more thread: if one of them blocks, the others time out, and the server goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import NamedTuple, cast

MAX_THREADS = 32
"""Threads that may run at once. If all threads are in use, calls of plain functions fail."""

Function = Callable[..., object]


class HookFailed(Exception):
    """A call failed. The message is for the log and has no data of visitors."""


class TimedOut(HookFailed):
    """A call took too long."""


class _Outcome(NamedTuple):
    value: object = None
    failure: str = ""


class Calls:
    """Runs the calls of one process."""

    def __init__(self) -> None:
        self._threads = 0
        self._abandoned: set[asyncio.Future[_Outcome]] = set()
        """Calls that were cancelled. The event loop itself has no strong reference to tasks."""
        self._site_loop: asyncio.AbstractEventLoop | None = None

    async def call(
        self, function: Function, args: tuple[object, ...], seconds: float, *, is_ours: bool = False
    ) -> object:
        """The result of `function(*args)`. Raises HookFailed, after `seconds` at the latest.

        `is_ours`: an `async` function never blocks, so it runs on the server's event loop.
        """
        if seconds <= 0:
            raise HookFailed("was not called: the hooks before it took all of the time")
        running = self._begin(function, args, is_ours)
        try:
            # `asyncio.timeout` would wait for a hook that catches CancelledError.
            await asyncio.wait({running}, timeout=seconds)
            if not running.done():
                raise TimedOut(f"did not end within {seconds:.1f} seconds")
        finally:
            if not running.done():
                self._abandon(running)
        if running.cancelled():
            raise HookFailed("cancelled itself")
        outcome = running.result()
        if inspect.iscoroutine(outcome.value):
            outcome.value.close()
        if outcome.failure:
            raise HookFailed(outcome.failure)
        return outcome.value

    def close(self) -> None:
        """End the event loop of the site's `async` functions, with the running functions."""
        if self._site_loop:
            self._site_loop.call_soon_threadsafe(self._site_loop.stop)
            self._site_loop = None

    def _begin(
        self, function: Function, args: tuple[object, ...], is_ours: bool
    ) -> asyncio.Future[_Outcome]:
        if is_async(function):
            called = _awaited(function, args)
            if is_ours:
                return asyncio.create_task(called)
            return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(called, self._loop()))
        if self._threads >= MAX_THREADS:
            raise HookFailed(f"was not called: {MAX_THREADS} calls of hooks are running")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_Outcome] = loop.create_future()

        def finish(outcome: _Outcome) -> None:
            self._threads -= 1
            if not future.done():
                future.set_result(outcome)

        def run() -> None:
            outcome = _called(function, args)
            with contextlib.suppress(RuntimeError):  # the server has stopped
                loop.call_soon_threadsafe(finish, outcome)

        self._threads += 1
        # A daemon: a function that hangs does not delay the end of the process.
        threading.Thread(target=run, name="kefu hook", daemon=True).start()
        return future

    def _loop(self) -> asyncio.AbstractEventLoop:
        if self._site_loop is None:
            runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
            self._site_loop = loop = runner.get_loop()

            def run() -> None:
                with runner:  # ends the tasks that are left
                    loop.run_forever()

            # A daemon, like the threads of plain functions.
            threading.Thread(target=run, name="kefu async hooks", daemon=True).start()
        return self._site_loop

    def _abandon(self, running: asyncio.Future[_Outcome]) -> None:
        running.cancel()
        self._abandoned.add(running)
        running.add_done_callback(self._abandoned.discard)


def is_async(function: Function) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object that is called like a function
    )


async def _awaited(function: Function, args: tuple[object, ...]) -> _Outcome:
    try:
        return _Outcome(await cast(Awaitable[object], function(*args)))
    except (asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - also SystemExit, which would end the server
        return _Outcome(failure=_reason(error))


def _called(function: Function, args: tuple[object, ...]) -> _Outcome:
    try:
        return _Outcome(function(*args))
    except BaseException as error:  # noqa: BLE001 - also SystemExit
        return _Outcome(failure=_reason(error))


def _reason(error: BaseException) -> str:
    """The type of an exception and the hook's line, without its text, which may be private."""
    first = error.__traceback__  # the frame that called the hook
    line = f" in line {first.tb_next.tb_lineno}" if first and first.tb_next else ""
    return f"raised {type(error).__name__}{line}"
