"""The options of a relay."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from kefu.relay.time_limits import NORMAL, TimeLimits


async def _at_once() -> None:
    """The keys are known from the start."""


class RelayOptions(NamedTuple):
    limits: TimeLimits = NORMAL
    max_retries: int = 3
    """Attempts for a request, after the first one."""
    cooldown: float = 60.0
    """Seconds for which a failing key cools down unless the upstream asks for more."""
    keys_ready: Callable[[], Awaitable[None]] = _at_once
    """Waits a short time for the keys to be loaded into the pools."""
    redact: Callable[[str], str] = str
    """Replaces secrets in a text."""
