"""Lets the calls of chats go before a long clean-up, which takes the write lock again and again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

MAX_PAUSE_SECONDS: Final = 1.0
"""Seconds of the longest pause. The clock may have been set meanwhile."""

LOOK_SECONDS, MAX_LOOKS = 0.002, 500
"""Seconds between two checks whether a call still waits for the lock, and their largest number."""


class Turn:
    """The next to run: the calls of chats, or the clean-up."""

    def __init__(self) -> None:
        self._waiting = 0
        self._asked = threading.Event()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While a call on the event loop waits for the write lock."""
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1

    def ask(self) -> None:
        """Tell the clean-up that another call waits for the worker thread."""
        self._asked.set()

    def give(self, pause: float) -> None:
        """Wait in the worker thread, `pause` seconds, and then until no call waits for the lock.

        Returns at once when the thread has other work.
        """
        asked = self._asked.wait(min(max(0.0, pause), MAX_PAUSE_SECONDS))
        for _ in range(MAX_LOOKS):
            if asked or not self._waiting:
                break
            asked = self._asked.wait(LOOK_SECONDS)
        self._asked.clear()
