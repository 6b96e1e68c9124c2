"""Rules for stored cooldowns and budgets, shared by all stores so that they behave alike."""

from __future__ import annotations

from kefu.relay.key_pool import CLOCK_SLACK, MAX_COOLDOWN, Cooldown, Reason

BUDGET_LIFE = 2 * 86400.0
"""Seconds that a budget is stored. Budgets are daily, so older budgets are not used any more."""


def far_from(now: float) -> float:
    """Return the latest valid deadline, in Unix time.

    A later deadline was stored by a machine with a wrong clock, and must not hide a valid deadline.
    """
    return now + MAX_COOLDOWN + CLOCK_SLACK


def later(stored: Cooldown | None, new: Cooldown, now: float) -> Cooldown:
    """Return the cooldown with the later deadline; `stored` if the deadlines are equal.

    A `stored` deadline after `far_from(now)` is invalid and is replaced by `new`.
    """
    if stored is None or stored.until < new.until or stored.until > far_from(now):
        return new
    return stored


def reason_of(name: str) -> Reason:
    """Parse a stored reason. An unknown reason, from a newer version of Kefu, becomes FAILING."""
    try:
        return Reason(name)
    except ValueError:
        return Reason.FAILING
