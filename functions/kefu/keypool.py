"""Which API key is tried next, and which ones rest until when.

Pure: `KeyPool` looks at a view of the cooldowns and a time, and answers. Fetching the view and
writing cooldowns is the `CooldownStore`'s work, trying keys is the relay's.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, NewType

from kefu.clocks import CLOCK_SLACK
from kefu.errors import KefuError, RateLimited, UpstreamUnavailable
from kefu.lean_typing import NamedTuple, Protocol

Fingerprint = NewType("Fingerprint", str)

MAX_COOLDOWN = 3600.0
"""Seconds. No upstream's word keeps a key away for longer."""


def fingerprint(secret: str) -> Fingerprint:
    """The 12 hex digits by which a key is known in logs, stores and panels."""
    digest = hmac.new(b"kefu key fingerprint", secret.encode(), hashlib.sha256).hexdigest()
    return Fingerprint(digest[:12])


@dataclass(frozen=True, slots=True)
class ApiKey:
    """No tuple: nothing shows its secret by showing what it consists of."""

    secret: str = field(repr=False)
    fingerprint: Fingerprint

    @classmethod
    def of(cls, secret: str) -> ApiKey:
        return cls(secret, fingerprint(secret))


def keys_in(text: str) -> tuple[str, ...]:
    """The keys of a comma separated list, each once. Raises ValueError, which quotes none."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isprintable() for part in parts):
        raise ValueError("holds a character that no API key has")
    return tuple(dict.fromkeys(part for part in parts if part))


class Reason(StrEnum):
    """Why a key rests."""

    RATE_LIMITED = "rate_limited"
    FAILING = "failing"
    INVALID = "invalid"


class Cooldown(NamedTuple):
    until: float
    """Unix time in seconds."""
    reason: Reason


Cooldowns = Mapping[Fingerprint, Cooldown]


class CooldownStore(Protocol):
    """Cooldowns shared by everyone who uses the same keys."""

    async def cooldowns(self) -> Cooldowns:
        """The known cooldowns, past ones perhaps among them: callers compare the time."""
        ...

    async def cool(self, key: Fingerprint, cooldown: Cooldown) -> Cooldowns:
        """Rest a key; of two overlapping cooldowns the later deadline stays, with its reason.

        Idempotent. Atomic against other writers. Returns the view after the write.
        """
        ...


class KeyState(NamedTuple):
    """A key as an operator sees it."""

    key: Fingerprint
    status: Literal["active", "cooldown", "invalid"]
    seconds_left: float
    """Of its rest; 0 when it is active."""
    outcomes: Mapping[str, int]
    """How often tries with it ended how, in this process."""


class KeyPool:
    def __init__(self, secrets: Sequence[str], *, probe_interval: float = 0.0) -> None:
        """`probe_interval`: see `active`; in seconds, 0 for never."""
        self._turn = itertools.count(1)
        self._probe_interval = probe_interval
        self._probed_at = float("-inf")
        self._last_used: dict[Fingerprint, int] = {}
        self.outcomes: dict[Fingerprint, Counter[str]] = {}
        """How often tries with a key ended how, in this process; an operator wants to know."""
        self.replace(secrets)

    def replace(self, secrets: Sequence[str]) -> None:
        """Other keys from now on; those that stay keep their turn."""
        self.keys = tuple(ApiKey.of(secret) for secret in dict.fromkeys(secrets))
        for key in self.keys:
            self._last_used.setdefault(key.fingerprint, 0)

    def active(self, cooldowns: Cooldowns, now: float) -> list[ApiKey]:
        """The keys that may be tried, least recently used first.

        While all rest because of one limit (an address's, say, not a key's), one of them may be
        probed every `probe_interval` seconds, so that the pool is not silent longer than it must.
        """
        free = [key for key in self.keys if _left(cooldowns, key, now) <= 0]
        if not free and self._probe_interval and now >= self._probed_at + self._probe_interval:
            self._probed_at = now
            valid = (k for k in self.keys if cooldowns[k.fingerprint].reason is not Reason.INVALID)
            free = list(valid)[:1]
        return sorted(free, key=lambda key: self._last_used[key.fingerprint])

    def used(self, key: ApiKey) -> None:
        """Note that a key is being tried, so that others come before it next time."""
        self._last_used[key.fingerprint] = next(self._turn)

    def ended(self, key: Fingerprint, outcome: str) -> None:
        """Count how a try went."""
        self.outcomes.setdefault(key, Counter())[outcome] += 1

    def states(self, cooldowns: Cooldowns, now: float) -> list[KeyState]:
        return [self._state(key, cooldowns, now) for key in self.keys]

    def _state(self, key: ApiKey, cooldowns: Cooldowns, now: float) -> KeyState:
        left = max(0.0, _left(cooldowns, key, now))
        invalid = left and cooldowns[key.fingerprint].reason is Reason.INVALID
        status: Literal["active", "cooldown", "invalid"] = "cooldown" if left else "active"
        outcomes = self.outcomes.get(key.fingerprint, Counter())
        return KeyState(key.fingerprint, "invalid" if invalid else status, left, outcomes)

    def exhausted(self, cooldowns: Cooldowns, now: float) -> KefuError:
        """What to tell a client when no key is active."""
        if not self.keys:
            return UpstreamUnavailable("No API key is configured.", should_retry=False)
        resting = {key: _left(cooldowns, key, now) for key in self.keys}
        valid = [k for k in self.keys if cooldowns[k.fingerprint].reason is not Reason.INVALID]
        wait = max(1, math.ceil(min(resting[key] for key in valid or self.keys)))
        if any(cooldowns[key.fingerprint].reason is Reason.RATE_LIMITED for key in valid):
            return RateLimited(
                "Too many requests right now. Please wait a moment.",
                retry_after=wait,
                should_retry=False,
            )
        return UpstreamUnavailable(
            "The AI service is unavailable. Please try again later.",
            retry_after=wait,
            should_retry=False,
        )


def _left(cooldowns: Cooldowns, key: ApiKey, now: float) -> float:
    """Seconds a key still rests; <= 0: it is active."""
    cooldown = cooldowns.get(key.fingerprint)
    left = cooldown.until - now if cooldown else 0.0
    # Nobody writes a deadline that far away: a clock jumped, and must not rest a key for ever.
    return left if left <= MAX_COOLDOWN + CLOCK_SLACK else 0.0
