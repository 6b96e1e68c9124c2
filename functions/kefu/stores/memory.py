"""Stores cooldowns and limits in memory: without a shared store, and while it is unavailable.

Chats in memory are in an SQLite database.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kefu.chat.limits import KEPT_SECONDS, Granted, Rate, admit
from kefu.relay.key_pool import Cooldown, Cooldowns, Fingerprint
from kefu.stores.deadlines import BUDGET_LIFE, later

if TYPE_CHECKING:
    from kefu.sessions.store.model import Retention
    from kefu.stores.sql.sessions import SqlSessions
    from kefu.stores.sqlite.memory import SqliteMemory


class MemoryStore:
    """Stores the limits in dicts. Methods are atomic: none awaits between a read and a write."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._cooldowns: dict[Fingerprint, Cooldown] = {}
        self._arrivals: dict[str, float] = {}
        self._sweep_at = 1024
        self._budgets: dict[str, tuple[int, float]] = {}
        self._chats: SqliteMemory | None = None

    def sessions(self, retention: Retention) -> SqlSessions:
        """Return a session store in the memory of this process."""
        # Here: only a service that stores chats needs SQLite.
        from kefu.stores.sql.sessions import SqlSessions
        from kefu.stores.sqlite.memory import SqliteMemory

        self._chats = self._chats or SqliteMemory(self._clock)
        return SqlSessions(self._chats, self._clock, retention)

    async def cooldowns(self) -> Cooldowns:
        return dict(self._cooldowns)

    async def cool(self, key: Fingerprint, cooldown: Cooldown) -> Cooldowns:
        self._cooldowns[key] = later(self._cooldowns.get(key), cooldown, self._clock())
        return dict(self._cooldowns)

    async def take(self, bucket: str, rate: Rate, places: int = 1) -> float:
        now = self._clock()
        arrival, wait = admit(self._arrivals.get(bucket), rate, now, places)
        if wait == 0:
            self._arrivals[bucket] = arrival
            self._forget_drained(now)
        return wait

    async def arrival(self, bucket: str) -> float | None:
        return self._arrivals.get(bucket)

    async def reserve(self, budget: str, amount: int, limit: int) -> Granted | None:
        used = self._used(budget) + amount
        if used > limit:
            return None
        self.set_used(budget, used)
        return Granted(limit - used)

    async def settle(self, budget: str, difference: int) -> None:
        self.set_used(budget, self._used(budget) + difference)

    def knows(self, budget: str) -> bool:
        """Whether anything was ever counted in this budget."""
        return budget in self._budgets

    async def aclose(self) -> None:
        if self._chats is not None:
            await self._chats.aclose()

    def _used(self, budget: str) -> int:
        return self._budgets.get(budget, (0, 0.0))[0]

    def set_used(self, budget: str, used: int) -> None:
        """Replace the use of a budget."""
        now = self._clock()
        if budget not in self._budgets:
            self._budgets = {name: b for name, b in self._budgets.items() if b[1] > now}
        self._budgets[budget] = (used, now + BUDGET_LIFE)

    def _forget_drained(self, now: float) -> None:
        """Delete the buckets that drained `KEPT_SECONDS` ago.

        Runs only when their number has doubled, so that the average cost of a call is constant.
        """
        if len(self._arrivals) >= self._sweep_at:
            least = now - KEPT_SECONDS
            self._arrivals = {name: at for name, at in self._arrivals.items() if at > least}
            self._sweep_at = max(1024, 2 * len(self._arrivals))
