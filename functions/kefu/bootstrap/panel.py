"""Builds the operator's panel from the settings."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from kefu import __version__
from kefu.bootstrap.base import Base
from kefu.bootstrap.secrets import admin_tokens
from kefu.chat.presets import DEFAULT
from kefu.relay.key_pool import KeyState
from kefu.relay.relay import Relay
from kefu.settings import ConfigurationError
from kefu.web.admin.panel import Panel, PanelInfo, PanelPages, PanelSite
from kefu.web.running import ChatRuntime

if TYPE_CHECKING:
    from kefu.auth.admin_tokens import AdminTokens
    from kefu.auth.oidc import OidcSignIn
    from kefu.bootstrap.relay import Relays
    from kefu.chat.translation import Translator
    from kefu.sessions.people.delivery_runner import DeliveryRunner
    from kefu.sessions.turn.service import SessionService
    from kefu.stores.sqlite.knowledge.answered import AnsweredPages


def operator_panel(
    base: Base,
    runtime: ChatRuntime,
    relays: Relays,
    sessions: SessionService | None,
    contact: DeliveryRunner | None,
    pages: PanelPages | None,
    answered: Sequence[AnsweredPages],
    learn_page: Callable[[str], Awaitable[tuple[str, str]]] | None,
) -> Panel:
    """Build the panel; only for settings that enable it."""

    async def key_states() -> Sequence[KeyState]:
        view, now = await store.cooldowns.cooldowns(), base.clock.now()
        return [state for pool in relays.pools for state in pool.states(view, now)]

    def answers_changed() -> None:
        for one in answered:
            one.changed()

    store = base.store
    tokens, ready = admin_tokens(base)
    return Panel(
        runtime=runtime,
        tokens=tokens,
        ready=ready,
        limits=store.limits,
        sessions=store.sessions,
        keys=key_states,
        info=_info(base, has_form=contact is not None, has_pages=pages is not None),
        clock=base.clock,
        nonce=lambda: secrets.token_hex(8),
        room=sessions.deps.capacity.room if sessions else None,
        contact=contact.handoff if contact else None,
        deliver=contact.deliver if contact and contact.handoff.delivers else None,
        mails=contact.mails if contact else None,
        pages=pages,
        has_answers=bool(answered),
        answers_changed=answers_changed,
        learn_page=learn_page,
        oidc=_oidc(base, tokens) if base.settings.admin_oidc else None,
        own_url=base.settings.admin_url,
        translators=_translators(base, runtime, relays.summaries) if _translates(base) else None,
    )


def _translates(base: Base) -> bool:
    return base.settings.contact_translate and base.store.sessions is not None


def _translators(base: Base, runtime: ChatRuntime, relay: Relay) -> Callable[[str], Translator]:
    """A translator for the chats of a preset, which takes from the budget of its site."""
    from kefu.chat.translation import Translator

    def of(preset: str) -> Translator:
        admission = runtime.services_of(preset).admission
        return Translator(relay, admission, base.model.sampling, base.clock)

    return of


def _oidc(base: Base, tokens: AdminTokens) -> OidcSignIn:
    """Raises ConfigurationError where the library that checks signatures is missing."""
    from importlib.util import find_spec

    if not find_spec("cryptography"):
        raise ConfigurationError("[admin] oidc (KEFU_ADMIN_OIDC) needs `kefu[oidc]`.")
    from kefu.auth.oidc import OidcClient, OidcSignIn
    from kefu.upstream.oidc import HttpProvider

    settings = base.settings
    provider = HttpProvider(settings.admin_oidc)
    base.connections.append(provider)
    client = OidcClient(
        settings.admin_oidc,
        settings.admin_oidc_client,
        settings.admin_oidc_secret.get_secret_value(),
        settings.admin_oidc_write,
        settings.admin_oidc_read,
    )
    return OidcSignIn(client, provider, tokens.derived)


def _info(base: Base, *, has_form: bool, has_pages: bool) -> PanelInfo:
    settings = base.settings
    price_input, price_output = settings.prices or (None, None)
    return PanelInfo(
        version=__version__,
        model=base.model.name,
        capture=settings.capture,
        keeps_chats=base.store.sessions is not None,
        has_contact_form=has_form,
        has_pages=has_pages,
        presets=[DEFAULT, *settings.presets] if settings.presets else [],
        price_input=price_input,
        price_output=price_output,
        sites=[
            PanelSite(name, one.origins, *(one.prices or (price_input, price_output)))
            for name, one in settings.presets.items()
            if one.origins
        ],
        replies=[one._asdict() for one in settings.replies],
        translates=_translates(base),
    )
