"""A store and its guards as one: what an application starts, asks and closes."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from kefu.keypool import CooldownStore
from kefu.limits import LimitStore
from kefu.sessions import Retention, Sessions
from kefu.stores.guarded import GuardedCooldowns, GuardedLimits
from kefu.stores.guarded_sessions import GuardedSessions


class Store(CooldownStore, LimitStore, Protocol):
    def sessions(self, retention: Retention) -> Sessions:
        """Chats kept in the same place, closed with this store."""
        ...

    async def aclose(self) -> None: ...


class GuardedStore(NamedTuple):
    """A store with its guards; memory needs none."""

    store: Store
    cooldowns: CooldownStore
    limits: LimitStore
    sessions: Sessions | None = None
    """None: no chats are kept."""

    def warm(self) -> None:
        warm = getattr(self.store, "warm", None)
        if warm:
            warm()

    async def disconnect(self) -> None:
        disconnect = getattr(self.store, "disconnect", None)
        if disconnect:
            await disconnect()

    def prefetch(self) -> None:
        if isinstance(self.cooldowns, GuardedCooldowns):
            self.cooldowns.prefetch()

    async def aclose(self) -> None:
        for part in (self.cooldowns, self.limits, self.sessions):
            if isinstance(part, GuardedCooldowns | GuardedLimits | GuardedSessions):
                await part.aclose()
        await self.store.aclose()
