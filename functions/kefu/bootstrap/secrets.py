"""Reads secrets that are stored in AWS, and passes them to the parts that use them.

The settings name their places in Secrets Manager or in the Parameter Store of SSM.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from kefu.auth.admin_tokens import AdminTokens
from kefu.auth.bot_check import BotCheck, Passes
from kefu.auth.identity import Identities
from kefu.relay.key_pool import KeyPool
from kefu.settings import Settings
from kefu.settings.fields import place_of, text_of
from kefu.stores.aws import text_at
from kefu.stores.referenced_keys import ReferencedKeys
from kefu.upstream.siteverify import HCAPTCHA, TURNSTILE, SiteVerify
from kefu.web.log import RequestLog

if TYPE_CHECKING:
    from kefu.auth.origin_secret import OriginSecret

Now = Callable[[], float]
KEYS_TTL: Final = 300.0
"""Seconds after which secrets that are stored elsewhere are read again."""

ACTION: Final = "chat"
"""The `action` that a page must give Turnstile; hCaptcha has none."""

AUDIENCE: Final = "kefu"
"""The `aud` claim that a user token of the site must have."""

PASS_SECONDS: Final = 30 * 60.0
"""A visitor who has passed the bot check is not checked again for so long."""

SetSecrets = Callable[[tuple[str, ...]], None]


class SecretReader(NamedTuple):
    """Makes the readers of stored secrets."""

    settings: Settings
    now: Now
    log: RequestLog

    def of(self, reference: str, what: str, set_secrets: SetSecrets) -> ReferencedKeys | None:
        """A reader for one reference; None if `reference` is empty.

        `set_secrets` is called with the secrets after each read. `what` names them in log lines.
        """
        if not reference:
            return None

        def set_and_hide(secrets: tuple[str, ...]) -> None:
            self.log.secrets.add_secrets(secrets)
            set_secrets(secrets)

        return ReferencedKeys(
            partial(text_at, reference),
            set_and_hide,
            self.now,
            ttl=KEYS_TTL,
            on_degraded=self.log.degraded,
            what=what,
        )


def _the_only(secrets: tuple[str, ...], what: str) -> str:
    if len(secrets) > 1:
        raise ValueError(f"holds more than one {what}")
    return secrets[0]


def referenced_keys(reader: SecretReader, pool: KeyPool) -> ReferencedKeys | None:
    return reader.of(reader.settings.keys_place, "the API keys", pool.replace)


def fallback_keys(reader: SecretReader, pool: KeyPool) -> ReferencedKeys | None:
    return reader.of(reader.settings.fallback_keys_place, "the fallback's API keys", pool.replace)


class IdentityConfig(NamedTuple):
    identities: Identities
    secrets: ReferencedKeys | None


def identities(reader: SecretReader) -> IdentityConfig:
    settings = reader.settings

    def set_secrets(secrets: tuple[str, ...]) -> None:
        made.set_secrets(secrets)

    read = reader.of(place_of(settings.identity_secrets), "the identity secrets", set_secrets)
    ready = read.ready if read else None
    made = Identities(settings.identity_keys, AUDIENCE, ready)
    return IdentityConfig(made, read)


class OriginAccess(NamedTuple):
    check: OriginSecret | None
    """None: there is no CDN in front."""
    secret: ReferencedKeys | None


def origin_access(reader: SecretReader) -> OriginAccess:
    settings = reader.settings
    if not settings.behind_cdn:
        return OriginAccess(None, None)
    from kefu.auth.origin_secret import OriginSecret

    def set_secrets(secrets: tuple[str, ...]) -> None:
        check.set_secrets(secrets)

    read = reader.of(place_of(settings.origin_secret), "the CDN's secret", set_secrets)
    check = OriginSecret(settings.origin_secrets, read.ready if read else None)
    return OriginAccess(check, read)


class AdminAccess(NamedTuple):
    tokens: AdminTokens
    secret: ReferencedKeys | None


def admin_access(reader: SecretReader) -> AdminAccess:
    settings = reader.settings
    tokens = AdminTokens(settings.panel_token)

    def set_secrets(secrets: tuple[str, ...]) -> None:
        tokens.set_secret(_the_only(secrets, "token"))

    return AdminAccess(
        tokens, reader.of(place_of(settings.admin_token), "the panel's token", set_secrets)
    )


class BotChecking(NamedTuple):
    verifier: SiteVerify
    """To be closed at the end, also if the bot check is off."""
    check: BotCheck | None
    secret: ReferencedKeys | None


def bot_checking(reader: SecretReader, url: str = "") -> BotChecking:
    """`url`: where tokens are verified; "": the address of the provider."""
    settings = reader.settings
    place, secret = place_of(settings.bot_check_secret), text_of(settings.bot_check_secret)
    turnstile = settings.bot_check == "turnstile"
    verifier = SiteVerify(url or (TURNSTILE if turnstile else HCAPTCHA), secret)
    if settings.bot_check == "off":
        return BotChecking(verifier, None, None)
    passes = Passes(secret, PASS_SECONDS)

    def set_secrets(secrets: tuple[str, ...]) -> None:
        only = _the_only(secrets, "secret")
        verifier.set_secret(only)
        passes.set_secret(only)

    referenced = reader.of(place, "the bot check's secret", set_secrets)
    check = BotCheck(
        verifier,
        passes,
        reader.now,
        hostnames=settings.bot_check_hosts,
        action=ACTION if turnstile else None,
        secret_ready=referenced.ready if referenced else None,
    )
    return BotChecking(verifier, check, referenced)
