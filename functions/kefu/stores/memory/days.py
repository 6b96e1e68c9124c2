"""Keeps the sums of each day in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kefu.sessions.model import Retention
from kefu.sessions.overview import Day
from kefu.stores.turns import DayChange


class MemoryDays:
    def __init__(self, clock: Callable[[], float], retention: Retention) -> None:
        self._clock = clock
        self._retention = retention
        self._days: dict[str, Day] = {}

    async def days(self, since: str, until: str) -> Sequence[Day]:
        return [self._days[date] for date in sorted(self._days) if since <= date <= until]

    def _count(self, change: DayChange) -> None:
        day = self._days.get(change.date, Day(change.date))
        sums = {name: getattr(day, name) + by for name, by in change.by.items()}
        self._days[change.date] = day._replace(**sums)
