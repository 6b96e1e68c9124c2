"""A store and its guards as one: what an application starts, asks and closes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kefu.keypool import CooldownStore
from kefu.limits import LimitStore
from kefu.sessions import Retention, Sessions
from kefu.stores.guarded import GuardedCooldowns, GuardedLimits


class Store(CooldownStore, LimitStore, Protocol):
    def sessions(self, retention: Retention) -> Sessions:
        """Chats kept in the same place, closed with this store."""
        ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class GuardedStore:
    """A store with its guards; memory needs none."""

    store: Store
    cooldowns: CooldownStore
    limits: LimitStore

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
        for part in (self.cooldowns, self.limits):
            if isinstance(part, GuardedCooldowns | GuardedLimits):
                await part.aclose()
        await self.store.aclose()
