"""Signs the requests of commands that ask a service as its operator."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from kefu.auth.admin_tokens import COMMAND_LIFE, AdminTokens, Kind
from kefu.bootstrap.clock import SystemClock
from kefu.settings import Settings
from kefu.settings.fields import text_of


def operator_of(settings: Settings) -> Callable[[Kind], str] | None:
    """Return a function that signs a short pass or check; None without ADMIN_TOKEN."""
    token = text_of(settings.admin_token)
    return operator_with(token) if token else None


def operator_with(token: str) -> Callable[[Kind], str]:
    """The same for a service with this token."""
    tokens, clock = AdminTokens(token), SystemClock()
    return lambda kind: tokens.issue(secrets.token_hex(8), clock.now(), COMMAND_LIFE, kind)
