"""Builds the operator's panel from the settings."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kefu import __version__
from kefu.bootstrap.secrets import SecretReader, admin_access
from kefu.chat.limits import LimitStore
from kefu.chat.presets import DEFAULT
from kefu.relay.call import Clock
from kefu.relay.key_pool import CooldownStore, KeyPool, KeyState
from kefu.sessions.capacity import Capacity
from kefu.sessions.ports import Sessions
from kefu.stores.referenced_keys import ReferencedKeys
from kefu.web.admin.panel import LearntPages, Panel, PanelInfo

if TYPE_CHECKING:
    from kefu.sessions.handoff import HandOff


class OperatorPanel(NamedTuple):
    panel: Panel
    secret: ReferencedKeys | None
    """The reader of a token that is stored in AWS, to be closed at the end; None for another."""


class Keys(NamedTuple):
    pools: Sequence[KeyPool]
    cooldowns: CooldownStore
    clock: Clock

    async def states(self) -> Sequence[KeyState]:
        view, now = await self.cooldowns.cooldowns(), self.clock.now()
        return [state for pool in self.pools for state in pool.states(view, now)]


def operator_panel(
    reader: SecretReader,
    keys: Keys,
    limits: LimitStore,
    sessions: Sessions | None,
    model: str,
    capacity: Capacity | None,
    contact: HandOff | None,
    pages: LearntPages | None,
) -> OperatorPanel:
    """Build the panel; only for settings that enable it."""
    settings = reader.settings
    tokens, secret = admin_access(reader)
    price_input, price_output = settings.prices or (None, None)
    panel = Panel(
        tokens=tokens,
        ready=secret.ready if secret else _at_once,
        limits=limits,
        sessions=sessions,
        keys=keys.states,
        info=PanelInfo(
            version=__version__,
            model=model,
            capture=settings.capture,
            keeps_chats=sessions is not None,
            has_contact_form=contact is not None,
            has_pages=pages is not None,
            presets=[DEFAULT, *settings.presets] if settings.presets else [],
            price_input=price_input,
            price_output=price_output,
        ),
        clock=keys.clock,
        nonce=new_nonce,
        room=capacity.room if capacity else None,
        contact=contact,
        pages=pages,
    )
    return OperatorPanel(panel, secret)


def new_nonce() -> str:
    return secrets.token_hex(8)


async def _at_once() -> None:
    """Return at once: a token in the settings need not be loaded."""
