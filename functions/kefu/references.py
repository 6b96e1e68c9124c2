"""Secrets that are kept elsewhere, and who uses them: API keys, bot check, panel, identities."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kefu.admin_tokens import AdminTokens
from kefu.keypool import KeyPool
from kefu.lean_typing import NamedTuple
from kefu.settings import Settings
from kefu.stores.aws import text_at
from kefu.stores.referenced_keys import ReferencedKeys
from kefu.upstream.siteverify import HCAPTCHA, TURNSTILE, SiteVerify
from kefu.verification import BotCheck, Passes
from kefu.web.identity import Identities
from kefu.web.log import RequestLog

Now = Callable[[], float]
Learn = Callable[[tuple[str, ...]], None]


class Reading(NamedTuple):
    """What it takes to read a secret from elsewhere."""

    settings: Settings
    now: Now
    log: RequestLog

    def of(self, reference: str, what: str, learn: Learn) -> ReferencedKeys | None:
        """`learn` is told whenever it was read; None where nothing is referred to."""
        if not reference:
            return None

        def learn_and_hide(secrets: tuple[str, ...]) -> None:
            self.log.redactor.learn(secrets)
            learn(secrets)

        return ReferencedKeys(
            partial(text_at, reference),
            learn_and_hide,
            self.now,
            ttl=self.settings.keys_ttl,
            on_degraded=self.log.degraded,
            what=what,
        )


def _the_only(secrets: tuple[str, ...], what: str) -> str:
    if len(secrets) > 1:
        raise ValueError(f"holds more than one {what}")
    return secrets[0]


def referenced_keys(reading: Reading, pool: KeyPool) -> ReferencedKeys | None:
    return reading.of(reading.settings.keys_from, "the API keys", pool.replace)


class Checked(NamedTuple):
    identities: Identities
    secrets: ReferencedKeys | None


def identities(reading: Reading) -> Checked:
    settings = reading.settings

    def learn(secrets: tuple[str, ...]) -> None:
        made.learn(secrets)

    read = reading.of(settings.identity_secrets_from, "the identity secrets", learn)
    ready = read.ready if read else None
    made = Identities(settings.identity_keys, settings.identity_audience, ready)
    return Checked(made, read)


class AdminAccess(NamedTuple):
    tokens: AdminTokens
    secret: ReferencedKeys | None


def admin_access(reading: Reading) -> AdminAccess:
    settings = reading.settings
    tokens = AdminTokens(settings.admin_token.get_secret_value())
    reference = "" if tokens.known else settings.admin_token_from

    def learn(secrets: tuple[str, ...]) -> None:
        tokens.learn(_the_only(secrets, "token"))

    return AdminAccess(tokens, reading.of(reference, "the panel's token", learn))


class BotChecking(NamedTuple):
    verifier: SiteVerify
    """There to be closed, also while nobody asks it."""
    check: BotCheck | None
    secret: ReferencedKeys | None


def bot_checking(reading: Reading) -> BotChecking:
    settings = reading.settings
    secret = settings.bot_check_secret.get_secret_value()
    turnstile = settings.bot_check == "turnstile"
    verifier = SiteVerify(settings.bot_check_url or (TURNSTILE if turnstile else HCAPTCHA), secret)
    if settings.bot_check == "off":
        return BotChecking(verifier, None, None)
    passes = Passes(secret, 60 * settings.bot_check_minutes)

    def learn(secrets: tuple[str, ...]) -> None:
        only = _the_only(secrets, "secret")
        verifier.learn(only)
        passes.learn(only)

    referenced = reading.of(settings.bot_check_secret_from, "the bot check's secret", learn)
    check = BotCheck(
        verifier,
        passes,
        reading.now,
        hostnames=settings.bot_check_hosts,
        action=settings.bot_check_action if turnstile else None,
        secret_ready=referenced.ready if referenced else None,
    )
    return BotChecking(verifier, check, referenced)
