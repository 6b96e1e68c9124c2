"""Defines the rate limit algorithm, and the port of the store for rate limits and token budgets.

The algorithm is GCRA (the leaky bucket as a meter). GCRA stores one number per bucket, the
*theoretical arrival time*, and computes the exact waiting time from it. A refused request does not
change that number.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from kefu.relay.key_pool import CLOCK_SLACK

SLACK_SECONDS = 1e-3
"""Seconds by which a request may arrive early. Sums of floats as large as a Unix time are inexact,
and would otherwise refuse the last request of an allowed burst.
"""


KEPT_SECONDS = 600.0
"""Seconds from its arrival time for which a bucket is at least kept."""

LEASED_PART = 0.5
"""The part of a limit within which a process may take several places at once. Above it, places are
taken one by one, so that no visitor is refused because of another process's unused places.
"""


class Rate(NamedTuple):
    """At most `requests` in `period` seconds; they may all arrive in one burst."""

    requests: int
    period: float

    @property
    def interval(self) -> float:
        """Seconds between two requests at a constant rate."""
        return self.period / self.requests

    def ahead(self, places: int) -> float:
        """Seconds by which the arrival time may be ahead when so many places are taken at once."""
        whole = self.period if places == 1 else LEASED_PART * self.period
        return whole - places * self.interval


def far_from(rate: Rate, now: float) -> float:
    """The latest valid arrival time. A later arrival comes from a wrong clock and is ignored."""
    return now + rate.period + CLOCK_SLACK


def admit(arrival: float | None, rate: Rate, now: float, places: int = 1) -> tuple[float, float]:
    """GCRA: `(new theoretical arrival time, seconds to wait)`; 0 seconds admit the requests.

    `arrival` is the stored time of the bucket, None for a new bucket.
    Source: ITU-T I.371, "virtual scheduling algorithm".
    """
    start = now if arrival is None or arrival > far_from(rate, now) else max(arrival, now)
    wait = start - now - rate.ahead(places)
    if wait > SLACK_SECONDS:
        return start, wait
    return start + places * rate.interval, 0.0


class Granted(NamedTuple):
    """A reservation that fits its budget. `bool()` of a Granted is True, even if `left` is 0."""

    left: int
    """The rest of the budget after this reservation."""


class LimitStore(Protocol):
    """Counters that all processes of a site share."""

    async def take(self, bucket: str, rate: Rate, places: int = 1) -> float:
        """Count so many requests and return 0, or return the seconds to wait, as `admit`. Atomic.

        All of the requests are admitted, or none. `places` is 1, or at most `LEASED_PART` of the
        rate's requests.
        """
        ...

    async def arrival(self, bucket: str) -> float | None:
        """The theoretical arrival time of a bucket; None for one that is unused or not kept."""
        ...

    async def reserve(self, budget: str, amount: int, limit: int) -> Granted | None:
        """Add `amount` to a budget; None, and no change, if that would exceed `limit`. Atomic.

        The name of a budget contains its day, so a store may delete it after two days.
        """
        ...

    async def settle(self, budget: str, difference: int) -> None:
        """Add `difference` to a budget after a reservation; below 0 it gives tokens back."""
        ...
