"""Decides when an overloaded server refuses new chats, instead of letting them wait.

Two delays show an overload: the delay until a new connection is accepted, and the delay of the
event loop. Without a refusal, chats beyond the processor's power would wait for many seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

WINDOW_SECONDS = 0.5
"""Seconds for which the delay must be too long. A single pause, such as a garbage collection or a
frozen process, is not an overload.
"""
SAMPLE_SECONDS = 0.1
"""Seconds between two samples of the event loop's delay."""


class DelayGate:
    """Closes when all delays of `WINDOW_SECONDS` were too long, and opens at a short delay.

    Source: Nichols and Jacobson, "Controlling Queue Delay", whose minimum over a window this is.
    """

    def __init__(self, accepted: float) -> None:
        """`accepted`: seconds of delay."""
        self.closed = False
        self._accepted = accepted
        self._late_since: float | None = None

    def note(self, now: float, delay: float) -> None:
        """Count a delay that was seen at the time `now`; both are in seconds."""
        if delay <= self._accepted:
            self._late_since, self.closed = None, False
        elif self._late_since is None:
            self._late_since = now
        else:
            self.closed = now - self._late_since >= WINDOW_SECONDS


class Overload:
    def __init__(self, monotonic: Callable[[], float], accepted: float) -> None:
        """`accepted`: seconds of delay."""
        self._monotonic = monotonic
        self._connections = DelayGate(accepted)
        self._loop = DelayGate(accepted)

    def refuses(self, waited: float | None) -> bool:
        """Whether to refuse a request.

        `waited`: the seconds until the connection was accepted; None: unknown, as for later
        requests of a connection.
        """
        if waited is not None:
            self._connections.note(self._monotonic(), waited)
            if self._connections.closed:
                return True
        return self._loop.closed

    async def watch(self) -> None:
        """Measure the event loop's delay until this task is cancelled."""
        last = self._monotonic()
        while True:
            # uvloop's clock does not advance during an iteration of its loop, so it shows no delay.
            await asyncio.sleep(SAMPLE_SECONDS)
            now = self._monotonic()
            self._loop.note(now, now - last - SAMPLE_SECONDS)
            last = now
