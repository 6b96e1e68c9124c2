"""What a stored cooldown means, and which of two stays: one rule, so that every store agrees."""

from __future__ import annotations

from kefu.clocks import CLOCK_SLACK
from kefu.keypool import MAX_COOLDOWN, Cooldown, Reason


def far_from(now: float) -> float:
    """A deadline past this was written by a clock that jumped; it must not shadow a real one."""
    return now + MAX_COOLDOWN + CLOCK_SLACK


def later(stored: Cooldown | None, new: Cooldown, now: float) -> Cooldown:
    """The later of both; the stored one of two equals; never an impossibly far stored one."""
    if stored is None or stored.until < new.until or stored.until > far_from(now):
        return new
    return stored


def reason_of(name: str) -> Reason:
    """A reason as it was stored; one that only a newer Kefu knows counts as FAILING."""
    try:
        return Reason(name)
    except ValueError:
        return Reason.FAILING
