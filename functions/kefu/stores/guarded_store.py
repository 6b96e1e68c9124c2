"""A store and its guards as one: what an application starts, asks and closes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kefu.keypool import CooldownStore
from kefu.lean_typing import NamedTuple, Protocol
from kefu.limits import LimitStore
from kefu.stores.guarded import GuardedCooldowns

if TYPE_CHECKING:
    from kefu.sessions import Retention, Sessions


class Store(CooldownStore, LimitStore, Protocol):
    def sessions(self, retention: Retention) -> Sessions:
        """Chats kept in the same place, closed with this store."""
        ...

    async def aclose(self) -> None: ...


class Guard(Protocol):
    async def aclose(self) -> None:
        """End what it does beside the calls."""
        ...


class GuardedStore(NamedTuple):
    """A store with its guards; memory needs none."""

    store: Store
    cooldowns: CooldownStore
    limits: LimitStore
    sessions: Sessions | None = None
    """None: no chats are kept."""
    guards: Sequence[Guard] = ()
    """Closed before the store."""

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
        for guard in self.guards:
            await guard.aclose()
        await self.store.aclose()
