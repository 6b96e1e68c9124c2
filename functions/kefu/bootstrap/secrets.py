"""Builds the parts that decide who may use the service, with secrets that may be stored in AWS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kefu.auth.admin_tokens import AdminTokens
from kefu.auth.bot_check import BotCheck, Passes
from kefu.bootstrap.base import Base, the_only
from kefu.settings.fields import place_of, text_of
from kefu.upstream.siteverify import HCAPTCHA, TURNSTILE, SiteVerify

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kefu.auth.identity import Identities
    from kefu.auth.origin_secret import OriginSecret

ACTION: Final = "chat"
"""The `action` that a page must give Turnstile; hCaptcha has none."""

AUDIENCE: Final = "kefu"
"""The `aud` claim that a user token of the site must have."""

PASS_SECONDS: Final = 30 * 60.0
"""Seconds for which a visitor who has passed the bot check is not checked again."""


def bot_check(base: Base) -> BotCheck | None:
    """None if the bot check is off."""
    settings = base.settings
    if settings.bot_check == "off":
        return None
    secret, turnstile = text_of(settings.bot_check_secret), settings.bot_check == "turnstile"
    url = base.constants.bot_check_url or (TURNSTILE if turnstile else HCAPTCHA)
    verifier, passes = SiteVerify(url, secret), Passes(secret, PASS_SECONDS)
    base.connections.append(verifier)

    def set_secrets(secrets: tuple[str, ...]) -> None:
        only = the_only(secrets, "secret")
        verifier.set_secret(only)
        passes.set_secret(only)

    return BotCheck(
        verifier,
        passes,
        base.clock.now,
        hostnames=settings.bot_check_hosts,
        action=ACTION if turnstile else None,
        secret_ready=base.secret(
            place_of(settings.bot_check_secret), "the bot check's secret", set_secrets
        ),
    )


def admin_tokens(base: Base) -> tuple[AdminTokens, Callable[[], Awaitable[None]]]:
    """The tokens of the operator's panel, and a function that waits for a token stored in AWS."""
    tokens = AdminTokens(base.settings.panel_token)

    def set_secrets(secrets: tuple[str, ...]) -> None:
        tokens.set_secret(the_only(secrets, "token"))

    place = place_of(base.settings.admin_token)
    return tokens, base.secret(place, "the panel's token", set_secrets) or _at_once


async def _at_once() -> None:
    """Return at once: a token in the settings need not be loaded."""


def identities(base: Base) -> Identities | None:
    """None if the site does not sign user tokens: then all visitors are anonymous."""
    settings = base.settings
    if not settings.identity_secrets:
        return None
    from kefu.auth.identity import Identities

    made, place = Identities(settings.identity_keys, AUDIENCE), place_of(settings.identity_secrets)
    made.ready = base.secret(place, "the identity secrets", made.set_secrets)
    return made


def origin_secret(base: Base) -> OriginSecret | None:
    """None if there is no CDN in front."""
    settings = base.settings
    if not settings.behind_cdn:
        return None
    from kefu.auth.origin_secret import OriginSecret

    made, place = OriginSecret(settings.origin_secrets), place_of(settings.origin_secret)
    made.ready = base.secret(place, "the CDN's secret", made.set_secrets)
    return made
