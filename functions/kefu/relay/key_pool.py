"""Chooses the API key for the next attempt, and defines cooldowns of keys.

`KeyPool` does no I/O: it computes from the given cooldowns and time. A `CooldownStore` reads and
writes the cooldowns; the relay sends the requests.
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
from typing import Literal, NamedTuple, NewType, Protocol

from kefu.errors import KefuError, RateLimited, UpstreamUnavailable
from kefu.relay.time_limits import Pace

Fingerprint = NewType("Fingerprint", str)

CLOCK_SLACK = 60.0
"""Seconds by which the clocks of two processes may differ."""

MAX_COOLDOWN = 3600.0
"""Seconds. A longer wait that an upstream asks for is shortened to this."""

FAILING_FOR, FAILING_AT_MOST = 30.0, 600.0
"""Seconds until a failing key is tried again. The seconds double with each failure, up to the
second number. Other processes are not informed: the cause may be this process's connection.
"""

_REFUSED = frozenset({"http_401", "http_402", "http_403"})
"""Outcomes of a key that the upstream does not accept."""


def fingerprint(secret: str) -> Fingerprint:
    """The 12 hex digits that identify a key in logs, stores and the panel, in place of the key."""
    digest = hmac.new(b"kefu key fingerprint", secret.encode(), hashlib.sha256).hexdigest()
    return Fingerprint(digest[:12])


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key. Not a tuple, because the repr of a tuple would show the secret."""

    secret: str = field(repr=False)
    fingerprint: Fingerprint

    @classmethod
    def of(cls, secret: str) -> ApiKey:
        return cls(secret, fingerprint(secret))


def keys_in(text: str) -> tuple[str, ...]:
    """The keys of a list with commas or line breaks, without duplicates.

    Raises ValueError for a character that no API key has; its message does not contain a key.
    """
    parts = [part.strip() for line in text.splitlines() for part in line.split(",")]
    if not all(part.isascii() and part.isprintable() for part in parts):
        raise ValueError("holds a character that no API key has")
    return tuple(dict.fromkeys(part for part in parts if part))


def check_api_keys(keys: Sequence[str]) -> None:
    """Raises ValueError for quotes and semicolons, which no API key has; does not quote a key."""
    if any(mark in key for key in keys for mark in "\"';"):
        raise ValueError(
            "holds quotes or a semicolon: write the keys without quotes, and commas between them"
        )


class Reason(StrEnum):
    """The reason why a key is cooling down."""

    RATE_LIMITED = "rate_limited"
    FAILING = "failing"
    INVALID = "invalid"


class Cooldown(NamedTuple):
    until: float
    """Unix time in seconds."""
    reason: Reason


Cooldowns = Mapping[Fingerprint, Cooldown]


class CooldownStore(Protocol):
    """Cooldowns that all processes with the same keys share."""

    async def cooldowns(self) -> Cooldowns:
        """The stored cooldowns. Some may have expired, so callers compare `until` with the time."""
        ...

    async def cool(self, key: Fingerprint, cooldown: Cooldown) -> Cooldowns:
        """Store a cooldown for a key. Of two cooldowns of a key, the later deadline is kept.

        Idempotent, and atomic against other writers. Returns all cooldowns after the write.
        """
        ...


@dataclass(slots=True)
class _Failing:
    """A key that has failed, and has not answered well since."""

    until: float
    """Unix time from which the key is tried again, beside another key."""
    period: float = FAILING_FOR
    """Seconds of which `until` is the end."""
    cuts: bool = False
    """Whether an answer broke off. Only a whole answer then shows that the key is good."""


class KeyState(NamedTuple):
    """The state of a key for the operator's panel."""

    key: Fingerprint
    status: Literal["active", "failing", "cooldown", "invalid"]
    seconds_left: float
    """Seconds until the key is active again, or a failing one is tried again; 0 when it is."""
    outcomes: Mapping[str, int]
    """Number of attempts in this process by outcome, as in `{"ok": 9, "http_429": 1}`."""


class KeyPool:
    """The keys of one upstream: in which order they are asked, and how they did."""

    def __init__(self, secrets: Sequence[str], url: str = "") -> None:
        """`url` stands for the key of an upstream without any, which is the empty text."""
        self._url = url
        self._use_counter = itertools.count(1)
        self._last_used: dict[Fingerprint, int] = {}
        self.failing: dict[Fingerprint, _Failing] = {}
        """The keys that have failed and have not answered since."""
        self.pace = Pace()
        self.outcomes: dict[Fingerprint, Counter[str]] = {}
        """Number of attempts in this process by key and outcome, for the operator's panel."""
        self._refused: set[Fingerprint] = set()
        self.replace(secrets)

    def replace(self, secrets: Sequence[str]) -> None:
        """Replace the keys. A key that is in both lists keeps its place in the order of use.

        Raises ValueError, without a change, for a text that is no API key.
        """
        check_api_keys(secrets)
        self.keys = tuple(
            ApiKey(secret, fingerprint(secret or self._url)) for secret in dict.fromkeys(secrets)
        )
        for key in self.keys:
            self._last_used.setdefault(key.fingerprint, 0)

    def free(self, cooldowns: Cooldowns, now: float) -> list[ApiKey]:
        """The keys that are not cooling down."""
        return [key for key in self.keys if _left(cooldowns, key, now) <= 0]

    def candidates(self, cooldowns: Cooldowns, now: float) -> list[ApiKey]:
        """The keys that may be asked: failing ones last, else least recently used first."""
        keys = self.free(cooldowns, now)
        keys.sort(key=lambda key: (self.rank(key, now), self._last_used[key.fingerprint]))
        return keys

    def rank(self, key: ApiKey, now: float) -> int:
        """0 for a good key, 1 for a failing one that may be tried again, 2 for other failing keys.

        Keys with a lower rank are asked first.
        """
        if key.fingerprint not in self.failing:
            return 0
        return 1 + (self._failing_left(key, now) > 0)

    def to_try_again(self, cooldowns: Cooldowns, now: float) -> ApiKey | None:
        """A failing key whose time is over, to be asked beside a good key and never in its place.

        None for a key whose answers broke off: such a key is asked last.
        """
        for key in self.candidates(cooldowns, now):
            if self.rank(key, now) == 1 and not self.failing[key.fingerprint].cuts:
                return key
        return None

    def mark_used(self, key: ApiKey) -> None:
        """Mark this key as the most recently used, so that `candidates` lists it last."""
        self._last_used[key.fingerprint] = next(self._use_counter)

    def mark_failing(self, key: ApiKey, now: float, *, cuts: bool = False) -> None:
        """List this key after all others. Each failure doubles the time until its next try.

        `cuts`: the answer broke off after its first content.
        """
        before = self.failing.get(key.fingerprint)
        period = min(2 * before.period, FAILING_AT_MOST) if before else FAILING_FOR
        cuts = cuts or (before is not None and before.cuts)
        self.failing[key.fingerprint] = _Failing(now + period, period, cuts)

    def mark_answering(self, key: ApiKey, *, whole: bool = False) -> None:
        """Note the first content of an answer, or that an answer is `whole`."""
        failing = self.failing.get(key.fingerprint)
        if failing and (whole or not failing.cuts):
            del self.failing[key.fingerprint]

    def count_outcome(self, key: Fingerprint, outcome: str) -> None:
        """Count the outcome of an attempt with this key."""
        self.outcomes.setdefault(key, Counter())[outcome] += 1
        if outcome in _REFUSED:
            self._refused.add(key)
        elif outcome == "ok":
            self._refused.discard(key)

    @property
    def all_refused(self) -> bool:
        """Whether the upstream has refused every key, as this process knows from its attempts."""
        return bool(self.keys) and all(key.fingerprint in self._refused for key in self.keys)

    def states(self, cooldowns: Cooldowns, now: float) -> list[KeyState]:
        return [self._state(key, cooldowns, now) for key in self.keys]

    def _state(self, key: ApiKey, cooldowns: Cooldowns, now: float) -> KeyState:
        outcomes = self.outcomes.get(key.fingerprint, Counter())
        if (left := _left(cooldowns, key, now)) > 0:
            invalid = cooldowns[key.fingerprint].reason is Reason.INVALID
            status: Literal["cooldown", "invalid"] = "invalid" if invalid else "cooldown"
            return KeyState(key.fingerprint, status, left, outcomes)
        if key.fingerprint in self.failing:
            left = self._failing_left(key, now)
            return KeyState(key.fingerprint, "failing", left, outcomes)
        return KeyState(key.fingerprint, "active", 0.0, outcomes)

    def _failing_left(self, key: ApiKey, now: float) -> float:
        """Seconds until a failing key is tried again; 0 when it may be."""
        failing = self.failing[key.fingerprint]
        left = failing.until - now
        return max(0.0, left) if left <= failing.period else 0.0  # the clock was set back


def exhausted(keys: Sequence[ApiKey], cooldowns: Cooldowns, now: float) -> KefuError:
    """The error for the client when none of `keys` is free; `retry_after` is the shortest wait."""
    if not keys:
        return UpstreamUnavailable("No API key is configured.", retry_after=1, should_retry=False)
    valid = [k for k in keys if cooldowns[k.fingerprint].reason is not Reason.INVALID]
    wait = max(1, math.ceil(min(_left(cooldowns, key, now) for key in valid or keys)))
    if any(cooldowns[key.fingerprint].reason is Reason.RATE_LIMITED for key in valid):
        return RateLimited(
            "Too many requests right now. Please wait a moment.",
            limit="keys",
            retry_after=wait,
            should_retry=False,
        )
    return UpstreamUnavailable(
        "The AI service is unavailable. Please try again later.",
        retry_after=wait,
        should_retry=False,
    )


def _left(cooldowns: Cooldowns, key: ApiKey, now: float) -> float:
    """Seconds until the cooldown of a key ends; the key is active at 0 or less."""
    cooldown = cooldowns.get(key.fingerprint)
    left = cooldown.until - now if cooldown else 0.0
    # The maximum of a cooldown. A later deadline comes from a clock that was wrong, and
    # would disable the key for too long.
    return left if left <= MAX_COOLDOWN + CLOCK_SLACK else 0.0
