"""Stops asking a store that does not answer, and finds out when it does again.

Without it every chat would wait for the store's time limit; with it one does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from kefu.errors import StoreUnavailable

PATIENCE = 10.0
"""Seconds a call may take that nobody waits for."""


class Circuit:
    """Closed: the store is asked. Open: nobody waits for it, a background probe does.

    It closes when a probe answers within `timeout`; a store that answers, but slowly, stays out of
    every request's way. Share one among all that ask the same store: a request waits once at most.
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
        """Seconds a request may wait for the store."""
        self.on_closed: list[Callable[[], None]] = []
        """Called each time the store is back."""
        self._probe = probe
        self._pause = pause
        self._on_degraded = on_degraded
        self._recovery: asyncio.Task[None] | None = None

    @property
    def open(self) -> bool:
        return self._recovery is not None

    def trip(self, what: str, error: BaseException) -> None:
        """Open it, and say so once; while it is open this changes nothing."""
        if self._recovery is None:
            self._on_degraded(f"{what}: {self._words(error)}")
            self._recovery = asyncio.create_task(self._recover())

    async def aclose(self) -> None:
        if self._recovery is not None:
            self._recovery.cancel()
            await asyncio.wait({self._recovery})

    async def _recover(self) -> None:
        while not await self._answers_in_time():
            pass
        self._recovery = None
        for tell in self.on_closed:
            tell()

    async def _answers_in_time(self) -> bool:
        await asyncio.sleep(self._pause)
        now = asyncio.get_running_loop().time
        started = now()
        try:
            async with asyncio.timeout(PATIENCE):
                await self._probe()
        except Exception as error:  # noqa: BLE001 - whatever breaks in a store, chats go on
            self._on_degraded(f"still away: {self._words(error)}")
            return False
        if now() - started > self.timeout:
            self._on_degraded("still slow")
            return False
        return True

    def _words(self, error: BaseException) -> str:
        if isinstance(error, TimeoutError):
            return f"no answer in {self.timeout:g} s"
        return str(error) if isinstance(error, StoreUnavailable) else type(error).__name__
