"""Secrets that are kept elsewhere, and who uses them: API keys, the bot check, the panel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from kefu.admin_tokens import AdminTokens
from kefu.keypool import KeyPool
from kefu.settings import Settings
from kefu.stores.aws import text_at
from kefu.stores.referenced_keys import ReferencedKeys
from kefu.upstream.siteverify import HCAPTCHA, TURNSTILE, SiteVerify
from kefu.verification import BotCheck, Passes
from kefu.web.log import RequestLog

Now = Callable[[], float]


def referenced_keys(
    settings: Settings, pool: KeyPool, now: Now, log: RequestLog
) -> ReferencedKeys | None:
    if not settings.keys_from:
        return None

    def learn(keys: tuple[str, ...]) -> None:
        log.redactor.learn(keys)
        pool.replace(keys)

    return ReferencedKeys(
        partial(text_at, settings.keys_from),
        learn,
        now,
        ttl=settings.keys_ttl,
        on_degraded=log.degraded,
    )


class AdminAccess(NamedTuple):
    tokens: AdminTokens
    secret: ReferencedKeys | None


def admin_access(settings: Settings, now: Now, log: RequestLog) -> AdminAccess:
    tokens = AdminTokens(settings.admin_token.get_secret_value())
    if tokens.known or not settings.admin_token_from:
        return AdminAccess(tokens, None)

    def learn(secrets: tuple[str, ...]) -> None:
        log.redactor.learn(secrets)
        if len(secrets) > 1:
            raise ValueError("holds more than one token")
        tokens.learn(secrets[0])

    secret = ReferencedKeys(
        partial(text_at, settings.admin_token_from),
        learn,
        now,
        ttl=settings.keys_ttl,
        on_degraded=log.degraded,
        what="the panel's token",
    )
    return AdminAccess(tokens, secret)


class BotChecking(NamedTuple):
    verifier: SiteVerify
    """There to be closed, also while nobody asks it."""
    check: BotCheck | None
    secret: ReferencedKeys | None


def bot_checking(settings: Settings, now: Now, log: RequestLog) -> BotChecking:
    secret = settings.bot_check_secret.get_secret_value()
    turnstile = settings.bot_check == "turnstile"
    verifier = SiteVerify(settings.bot_check_url or (TURNSTILE if turnstile else HCAPTCHA), secret)
    if settings.bot_check == "off":
        return BotChecking(verifier, None, None)
    passes = Passes(secret, 60 * settings.bot_check_minutes)
    referenced = _referenced_secret(settings, verifier, passes, now, log)
    check = BotCheck(
        verifier,
        passes,
        now,
        hostnames=settings.bot_check_hosts,
        action=settings.bot_check_action if turnstile else None,
        secret_ready=referenced.ready if referenced else None,
    )
    return BotChecking(verifier, check, referenced)


def _referenced_secret(
    settings: Settings, verifier: SiteVerify, passes: Passes, now: Now, log: RequestLog
) -> ReferencedKeys | None:
    if not settings.bot_check_secret_from:
        return None

    def learn(secrets: tuple[str, ...]) -> None:
        log.redactor.learn(secrets)
        if len(secrets) > 1:
            raise ValueError("holds more than one secret")
        verifier.learn(secrets[0])
        passes.learn(secrets[0])

    return ReferencedKeys(
        partial(text_at, settings.bot_check_secret_from),
        learn,
        now,
        ttl=settings.keys_ttl,
        on_degraded=log.degraded,
        what="the bot check's secret",
    )
