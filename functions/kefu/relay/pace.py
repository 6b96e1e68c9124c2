"""What an upstream usually needs until its headers, and how often a second key may be asked."""

from __future__ import annotations

from collections import deque
from math import ceil

from kefu.relay.time_limits import TimeLimits

REMEMBERED = 20
"""Attempts whose times are remembered."""
COST, AT_MOST = 10, 50
"""A hedge costs what so many requests have saved up, of at most so many."""
MARGIN = 1.1
"""The usual time is that of 95 % of the answers, times this."""


class Pace:
    """The pace of one upstream, as this process sees it."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=REMEMBERED)
        self._saved = 2 * COST

    def begin(self) -> None:
        """Count a request."""
        self._saved = min(AT_MOST, self._saved + 1)

    def answered(self, seconds: float) -> None:
        """Note the time from a request to its headers."""
        self._times.append(seconds)

    def hedged(self) -> None:
        """Count a request for which a second key was asked beside a silent one."""
        self._saved = max(0, self._saved - COST)

    def hedge_after(self, limits: TimeLimits, *, again: bool) -> float:
        """Seconds of silence after which the next key is asked beside.

        Not before most answers of this upstream have begun: two requests are paid. When a tenth of
        the requests was hedged, a hedge waits until there is just time for it. `again`: for a
        request that is hedged already.
        """
        times = sorted(self._times)
        usual = MARGIN * times[ceil(0.95 * len(times)) - 1] if times else 0.0
        after = max(limits.hedge_after, usual)
        return after if again or self._saved >= COST else max(after, limits.fallback_after)
