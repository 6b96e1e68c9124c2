"""What an upstream's refusal means: is it the key's fault, how long does the key rest, who hears.

Pure. The table of design: 429, 5xx, 456 and a wrong body rest the key; 401, 402, 403 make it
invalid; 400, 404, 422 are the request's fault and final.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

from kefu.keypool import MAX_COOLDOWN, Cooldown, Reason
from kefu.lean_typing import NamedTuple

INVALID_FOR = 3600.0
"""Seconds a key that the upstream does not accept is left alone."""

_REQUEST_AT_FAULT = frozenset({400, 404, 405, 406, 413, 414, 415, 422})
_KEY_INVALID = frozenset({401, 402, 403})


class Refusal(NamedTuple):
    outcome: str
    """For logs: `http_429`, `not_sse`, …"""
    rest: Cooldown | None = None
    """How long the key rests; None when it is not at fault."""
    request_at_fault: bool = False
    """The same request would fail with every key."""
    context_too_long: bool = False
    misdirected: bool = False
    """A redirect: the configured address is wrong, so no key is sent there again."""


def refusal(
    status: int, headers: Mapping[str, str], body: Mapping[str, object], *, now: float, rest: float
) -> Refusal:
    """Judge an error status (or an in-band error that stands for one).

    `headers` have lower-case names. `rest` is the usual cooldown in seconds, which the upstream's
    own word may only lengthen.
    """
    outcome = f"http_{status}"
    if status in _REQUEST_AT_FAULT:
        text = json.dumps(body).lower()
        too_long = "context_length" in text or "maximum context" in text
        return Refusal(outcome, request_at_fault=True, context_too_long=too_long)
    if status in _KEY_INVALID:
        return Refusal(outcome, Cooldown(now + INVALID_FOR, Reason.INVALID))
    if 300 <= status < 400:
        return Refusal(outcome, misdirected=True)
    if status < 500 and status not in (429, 456):
        return Refusal(outcome)
    wait = max(rest, min(_asked_wait(headers, body, now), MAX_COOLDOWN))
    reason = Reason.RATE_LIMITED if status in (429, 456) else Reason.FAILING
    return Refusal(outcome, Cooldown(now + wait, reason))


def wrong_body(outcome: str, *, now: float, rest: float) -> Refusal:
    """200, but not with a stream of chunks."""
    return Refusal(outcome, Cooldown(now + rest, Reason.FAILING))


def _asked_wait(headers: Mapping[str, str], body: Mapping[str, object], now: float) -> float:
    """Seconds the upstream asks to wait: `retry-after-ms`, `Retry-After`, `error.retry_after`."""
    error = body.get("error")
    waits = [
        _number(headers.get("retry-after-ms")) / 1000,
        _retry_after(headers.get("retry-after"), now),
        _number(error.get("retry_after")) if isinstance(error, dict) else 0.0,
    ]
    return max(waits)


def _retry_after(value: str | None, now: float) -> float:
    """RFC 9110, 10.2.3: seconds or an HTTP date."""
    if value is None:
        return 0.0
    if seconds := _number(value):
        return seconds
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp() - now


def _number(value: object) -> float:
    """A finite number of seconds, else 0."""
    try:
        number = float(value) if isinstance(value, int | float | str) else 0.0
    except (ValueError, OverflowError):
        return 0.0
    return number if abs(number) < float("inf") else 0.0
