"""Limits the size of the store of chats, because anonymous visitors write to it.

When the store fills up, the bodies of model calls are no longer stored, because they are the
largest. At the next level no new chats are stored, and at the limit no messages at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal, NamedTuple

from kefu.errors import StoreFull, StoreUnavailable

Level = Literal["ok", "no_bodies", "no_new_chats", "full"]
"""`no_bodies`: bodies of model calls are not stored. `full`: no message is stored."""

LEVELS: tuple[Level, ...] = ("ok", "no_bodies", "no_new_chats", "full")
LEVEL_STARTS = (0.0, 0.8, 0.9, 1.0)
"""The used part of the limit at which each level starts."""

RELEASE_FRACTION = 0.05
"""A level ends when this part of the limit is free again, so that it does not change often."""

READ_SECONDS = 0.25
"""Minimum seconds between two reads of the size. Meanwhile the size may exceed the limit."""

RETRY_AFTER = 60
"""Value of `Retry-After` in seconds. Chats that expire or are deleted free space."""


class Room(NamedTuple):
    used: int | None
    """Bytes in use; None if the store has no count."""
    limit: int
    """Maximum bytes; 0: unlimited."""
    level: Level


class Capacity:
    def __init__(
        self,
        used: Callable[[], Awaitable[int | None]],
        limit: int,
        clock: Callable[[], float],
        on_change: Callable[[Level], None],
    ) -> None:
        """`used` returns the bytes in use. `limit` is in bytes; 0: unlimited.

        `clock` is monotonic, in seconds. `on_change` is called with each new level.
        """
        self._used = used
        self._limit = limit
        self._clock = clock
        self._on_change = on_change
        self._level: Level = "ok"
        self._read_at = float("-inf")
        self._reading: asyncio.Task[None] | None = None

    @property
    def keeps_bodies(self) -> bool:
        return self._level == "ok"

    @property
    def keeps_new_chats(self) -> bool:
        return self._level in ("ok", "no_bodies")

    def admit(self, *, new: bool) -> None:
        """Raise StoreFull if there is no space for a message of a new or an existing chat.

        The check uses the size of the last read, and starts another read in the background.
        """
        self.prefetch()
        if self._level == "full":
            raise StoreFull("This chat cannot be kept: the store is full.", retry_after=RETRY_AFTER)
        if new and not self.keeps_new_chats:
            raise StoreFull("New chats cannot be kept: the store is full.", retry_after=RETRY_AFTER)

    def prefetch(self) -> None:
        """Start reading the size, unless a read is younger than `READ_SECONDS`. Returns at once."""
        under_way = self._reading is not None and not self._reading.done()
        if self._limit and not under_way and self._clock() - self._read_at >= READ_SECONDS:
            self._reading = asyncio.create_task(self._read())

    async def room(self) -> Room:
        """Read the current size. Raises StoreUnavailable."""
        used = await self._used()
        level = _level(used, self._limit, self._level)
        if level != self._level:
            self._level = level
            self._on_change(level)
        return Room(used, self._limit, self._level)

    async def aclose(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait({self._reading})

    async def _read(self) -> None:
        self._read_at = self._clock()
        try:
            await self.room()
        except StoreUnavailable:
            return  # the level is unchanged; the store's guard logs the failure


def _level(used: int | None, limit: int, before: Level) -> Level:
    if used is None or not limit:
        return "ok"
    held = LEVELS.index(before)
    reached = [
        number
        for number, part in enumerate(LEVEL_STARTS)
        if used >= (part - RELEASE_FRACTION * (number <= held)) * limit
    ]
    return LEVELS[reached[-1]]


async def _uncounted() -> None:
    """The size is not counted."""


UNLIMITED = Capacity(_uncounted, 0, lambda: 0.0, lambda _: None)
