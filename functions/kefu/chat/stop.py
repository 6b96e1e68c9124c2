"""Ends a running answer from another task, with a reason."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Stop:
    """Cancels the task that produces an answer. Only the first call has an effect."""

    def __init__(self) -> None:
        self.reason: Exception | None = None
        """Set before the task is cancelled: ClientGone, or the error to report."""
        self._task: asyncio.Task[object] | None = None

    def __call__(self, reason: Exception) -> None:
        if self._task and not self.reason:
            self.reason = reason
            self._task.cancel()

    def finished(self) -> None:
        """Ignore later stops, because the visitor has received the whole answer."""
        self._task = None

    @contextmanager
    def applied(self) -> Iterator[None]:
        """A context in which a stop raises its reason in place of CancelledError."""
        task = self._task = asyncio.current_task()
        try:
            yield
        except asyncio.CancelledError:
            if not (self.reason and task):
                raise
            task.uncancel()
            raise self.reason from None
        finally:
            self._task = None
