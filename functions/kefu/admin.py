"""The operator's panel as the settings describe it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from kefu import __version__
from kefu.answer import Clock
from kefu.keypool import CooldownStore, KeyPool, KeyState
from kefu.lean_typing import NamedTuple
from kefu.limits import LimitStore
from kefu.references import Reading, admin_access
from kefu.sessions import Sessions
from kefu.stores.referenced_keys import ReferencedKeys
from kefu.web.panel import About, Panel


class OperatorPanel(NamedTuple):
    panel: Panel
    secret: ReferencedKeys | None
    """Read from elsewhere, and to be closed."""


class Keys(NamedTuple):
    pool: KeyPool
    cooldowns: CooldownStore
    clock: Clock

    async def states(self) -> Sequence[KeyState]:
        return self.pool.states(await self.cooldowns.cooldowns(), self.clock.now())


def operator_panel(
    reading: Reading,
    keys: Keys,
    limits: LimitStore,
    sessions: Sessions | None,
    model: str,
) -> OperatorPanel:
    """For settings that ask for one."""
    settings = reading.settings
    tokens, secret = admin_access(reading)
    panel = Panel(
        tokens=tokens,
        ready=secret.ready if secret else _at_once,
        limits=limits,
        sessions=sessions,
        keys=keys.states,
        about=About(
            version=__version__,
            model=model,
            capture=settings.captured,
            keeps_chats=sessions is not None,
            price_input=settings.price_input,
            price_output=settings.price_output,
        ),
        clock=keys.clock,
        nonce=new_nonce,
    )
    return OperatorPanel(panel, secret)


def new_nonce() -> str:
    return secrets.token_hex(8)


async def _at_once() -> None:
    """The token is known from the start."""
