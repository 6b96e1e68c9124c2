"""How much one visitor, and the whole site, may ask: rate limits and a daily token budget.

The rate limit is GCRA (the leaky bucket as a meter): one number per bucket, the *theoretical
arrival time*, says exactly who may pass and how long the others wait. A refused request costs
nothing. The budget is reserved before the model is called and settled afterwards.
"""

from __future__ import annotations

from kefu.clocks import CLOCK_SLACK
from kefu.lean_typing import NamedTuple, Protocol

SLACK = 1e-3
"""Seconds by which a request may come too early."""


class Rate(NamedTuple):
    """`requests` in `period` seconds, all of which may come at once."""

    requests: int
    period: float

    @property
    def interval(self) -> float:
        """Seconds one request takes to drain."""
        return self.period / self.requests


def far_from(rate: Rate, now: float) -> float:
    """An arrival past this was written by a clock that jumped; nobody waits for it."""
    return now + rate.period + CLOCK_SLACK


def admit(arrival: float | None, rate: Rate, now: float) -> tuple[float, float]:
    """GCRA: `(new theoretical arrival, seconds to wait)`; a wait of 0 means: may pass.

    `arrival` is the bucket's stored time, None for a fresh one.
    Source: ITU-T I.371, "virtual scheduling algorithm".
    """
    start = now if arrival is None or arrival > far_from(rate, now) else max(arrival, now)
    # A millisecond of slack: sums of floats as large as a Unix time lose more than a microsecond,
    # and must not refuse the last of a burst.
    wait = start - now - (rate.period - rate.interval)
    if wait > SLACK:
        return start, wait
    return start + rate.interval, 0.0


class LimitStore(Protocol):
    """Counters shared by every process and instance of one site."""

    async def take(self, bucket: str, rate: Rate) -> float:
        """Let one request pass, or say in how many seconds it may (> 0). Atomic; see `admit`."""
        ...

    async def reserve(self, budget: str, amount: int, limit: int) -> bool:
        """Add `amount` to a budget unless that takes it over `limit`. Atomic.

        Budgets are named by their day, so an old one may be forgotten after two days.
        """
        ...

    async def settle(self, budget: str, difference: int) -> None:
        """Correct a reservation by what was really used (negative gives back)."""
        ...
