"""Combines a store with its guards, so that an application starts and closes them together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kefu.chat.limits import LimitStore
from kefu.relay.key_pool import CooldownStore

if TYPE_CHECKING:
    from kefu.sessions.store.model import Retention
    from kefu.sessions.store.ports import Sessions
    from kefu.stores.guarded.circuit import Circuit
    from kefu.stores.guarded.leases import LeasedLimits


class Servers(Protocol):
    """See `kefu.web.running.OtherServers`."""

    def tell(self, what: str, name: str) -> None: ...

    def listen(self, on_told: Callable[[str, str], None]) -> None: ...


class Store(CooldownStore, LimitStore, Protocol):
    def sessions(self, retention: Retention) -> Sessions:
        """Return a session store in the same database; `aclose` of this store closes both."""
        ...

    async def aclose(self) -> None: ...


class GuardedStore(NamedTuple):
    """A store with its guards. The memory store has none."""

    store: Store
    cooldowns: CooldownStore
    limits: LimitStore
    sessions: Sessions | None = None
    """None if chats are not stored."""
    contacts: Sessions | None = None
    """The same for requests for a person; None without a contact form."""
    leases: LeasedLimits | None = None
    """The same as `limits`; None if they are not leased."""
    circuits: Sequence[Circuit] = ()
    """The circuits of the guards, which `aclose` closes before the store."""

    @property
    def servers(self) -> Servers | None:
        """The other servers on the same store; None for a store without a way to tell them."""
        found: Servers | None = getattr(self.store, "servers", None)
        return found

    def warm(self) -> None:
        """Start connecting to the store, if necessary."""
        warm = getattr(self.store, "warm", None)
        if warm:
            warm()

    async def disconnect(self) -> None:
        """Close the store's connections, if any."""
        disconnect = getattr(self.store, "disconnect", None)
        if disconnect:
            await disconnect()

    async def aclose(self) -> None:
        if self.leases:
            await self.leases.give_back()
        for circuit in self.circuits:
            await circuit.aclose()
        await self.store.aclose()
