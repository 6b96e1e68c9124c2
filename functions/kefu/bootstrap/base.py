"""The parts from which `kefu.bootstrap.service` builds all others, and the parts' common code."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.constants import Constants
from kefu.bootstrap.stores import limit_of
from kefu.bootstrap.upstream import ChosenModel
from kefu.settings import Settings
from kefu.stores.aws import text_at
from kefu.stores.guarded.store import GuardedStore
from kefu.stores.referenced_keys import ReferencedKeys
from kefu.web.log import RequestLog

if TYPE_CHECKING:
    from kefu.sessions.store.capacity import Capacity
    from kefu.sessions.store.ports import Sessions

KEYS_TTL_SECONDS: Final = 300.0
"""Seconds after which secrets that are stored elsewhere are read again."""


class Connection(Protocol):
    async def aclose(self) -> None:
        """Close the connection. Its next use opens a new one."""
        ...


class Base(NamedTuple):
    settings: Settings
    constants: Constants
    clock: SystemClock
    log: RequestLog
    model: ChosenModel
    store: GuardedStore
    notices: list[str]
    """Messages for the operator; they are logged when the service starts."""
    secrets: list[ReferencedKeys]
    """The readers of the secrets that are stored in AWS. The method `secret` makes them."""
    connections: list[Connection]
    """The connections to other services, to be closed before a snapshot and at the end."""

    def secret(
        self, place: str, what: str, set_secrets: Callable[[tuple[str, ...]], None]
    ) -> Callable[[], Awaitable[None]] | None:
        """Read secrets from a place in Secrets Manager or in the Parameter Store of SSM.

        `set_secrets` is called with the secrets after each read. `what` names the secrets in log
        lines. Returns a function that waits for the first read; None if `place` is empty.
        """
        if not place:
            return None

        def set_and_hide(secrets: tuple[str, ...]) -> None:
            self.log.secrets.add_secrets(secrets)
            set_secrets(secrets)

        reader = ReferencedKeys(
            partial(text_at, place),
            set_and_hide,
            self.clock.now,
            ttl=KEYS_TTL_SECONDS,
            on_degraded=self.log.degraded,
            what=what,
        )
        self.secrets.append(reader)
        return reader.ready

    def capacity(self, store: Sessions) -> Capacity:
        """The limit on the size of the store."""
        from kefu.sessions.store.capacity import Capacity

        limit = limit_of(self.settings.store, self.constants.store_max_mb)
        return Capacity(store.used, limit, self.clock.monotonic, self.log.store_level)


def the_only(secrets: tuple[str, ...], what: str) -> str:
    """The secret that was read. Raises ValueError if there are several."""
    if len(secrets) > 1:
        raise ValueError(f"holds more than one {what}")
    return secrets[0]
