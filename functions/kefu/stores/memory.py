"""State of one process: for a trial run, for tests, and while a shared store is away."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kefu.keypool import Cooldown, Cooldowns, Fingerprint
from kefu.limits import Rate, admit
from kefu.stores.deadlines import later

if TYPE_CHECKING:
    from kefu.sessions import Retention
    from kefu.stores.memory_sessions import MemorySessions

BUDGET_LIFE = 2 * 86400.0
"""Seconds. A budget is named by its day; nobody asks for one that is two days old."""


class MemoryStore:
    """Keeps everything in dicts; atomic because no method awaits between reading and writing."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._cooldowns: dict[Fingerprint, Cooldown] = {}
        self._arrivals: dict[str, float] = {}
        self._sweep_at = 1024
        self._budgets: dict[str, tuple[int, float]] = {}

    def sessions(self, retention: Retention) -> MemorySessions:
        """Chats kept in this process, too."""
        from kefu.stores.memory_sessions import MemorySessions

        return MemorySessions(self._clock, retention)

    async def cooldowns(self) -> Cooldowns:
        return dict(self._cooldowns)

    async def cool(self, key: Fingerprint, cooldown: Cooldown) -> Cooldowns:
        self._cooldowns[key] = later(self._cooldowns.get(key), cooldown, self._clock())
        return dict(self._cooldowns)

    async def take(self, bucket: str, rate: Rate) -> float:
        now = self._clock()
        arrival, wait = admit(self._arrivals.get(bucket), rate, now)
        if wait == 0:
            self._arrivals[bucket] = arrival
            self._forget_drained(now)
        return wait

    async def reserve(self, budget: str, amount: int, limit: int) -> bool:
        used = self._used(budget)
        if used + amount > limit:
            return False
        self._spend(budget, used + amount)
        return True

    async def settle(self, budget: str, difference: int) -> None:
        self._spend(budget, self._used(budget) + difference)

    async def aclose(self) -> None:
        """Nothing to give back."""

    def _used(self, budget: str) -> int:
        return self._budgets.get(budget, (0, 0.0))[0]

    def _spend(self, budget: str, used: int) -> None:
        now = self._clock()
        if budget not in self._budgets:
            self._budgets = {name: b for name, b in self._budgets.items() if b[1] > now}
        self._budgets[budget] = (used, now + BUDGET_LIFE)

    def _forget_drained(self, now: float) -> None:
        """A bucket whose arrival is past is as good as none. Rare enough to cost nothing a call."""
        if len(self._arrivals) >= self._sweep_at:
            self._arrivals = {name: at for name, at in self._arrivals.items() if at > now}
            self._sweep_at = max(1024, 2 * len(self._arrivals))
