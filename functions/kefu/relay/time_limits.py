"""The options of a relay, with its time limits in one table. `KEFU_PATIENCE` chooses a column.

The limits depend on each other and on the widget's limits: the widget waits 5 s for the first byte
and 10 s between two bytes. `tests/unit/relay/test_time_limits.py` checks these relations.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from math import ceil
from typing import NamedTuple


class TimeLimits(NamedTuple):
    """Seconds. "Since the request" counts from the arrival of the client's request."""

    hedge_after: float = 2.5
    """From asking a key to asking the next one beside it, if no headers have arrived."""
    fallback_after: float = 3.5
    """Since the request: from then on a second upstream replaces one of two silent keys."""
    first_byte: float = 4.5
    """Since the request, to the first status 200 of an upstream."""
    ping_interval: float = 2.5
    """Longest time without a byte for the client. Since the request, also the time at which a
    client gets its headers while the model is thinking.
    """
    stall: float = 10.0
    """Between two reads of a running answer. Also from asking a key to asking the next key beside
    it, if status 200 has arrived and no content, as from a model that thinks.
    """
    after_finish: float = 2.0
    """From the finish_reason to the usage chunk and `[DONE]` that should follow."""
    max_duration: float = 120.0
    """Since the request, to the end of the answer."""
    early_headers: bool = False
    """Whether a client gets headers and pings before an upstream has answered. An error after that
    is an event of the stream and has no HTTP status.
    """


NORMAL = TimeLimits()

SLOW = TimeLimits(
    hedge_after=15.0,
    fallback_after=30.0,
    first_byte=90.0,
    stall=60.0,
    after_finish=10.0,
    max_duration=600.0,
    early_headers=True,
)
"""For models that think before they send their headers, such as large ones on a small machine."""


class RelayOptions(NamedTuple):
    limits: TimeLimits = NORMAL
    max_retries: int = 3
    """Attempts for a request, after the first one."""
    cooldown: float = 60.0
    """Seconds for which a failing key cools down unless the upstream asks for more."""
    keys_ready: Callable[[], Awaitable[None]] | None = None
    """Waits a short time for the keys to be loaded into the pools; None: they are known."""
    redact: Callable[[str], str] = str
    """Replaces secrets in a text."""


REMEMBERED_ATTEMPTS = 20
"""Attempts whose times are remembered."""
HEDGE_COST, MAX_SAVED_REQUESTS = 10, 50
"""Requests that each hedge uses up from a balance, and the balance's maximum."""
MARGIN_FACTOR = 1.1
"""The usual time is the 95th percentile of answers, times this factor."""


class Pace:
    """The pace of one upstream, as this process sees it."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=REMEMBERED_ATTEMPTS)
        self._saved = 2 * HEDGE_COST

    def begin(self) -> None:
        """Count a request."""
        self._saved = min(MAX_SAVED_REQUESTS, self._saved + 1)

    def answered(self, seconds: float) -> None:
        """Note the time from a request to its headers."""
        self._times.append(seconds)

    def hedged(self) -> None:
        """Count a request for which a second key was asked beside a silent key."""
        self._saved = max(0, self._saved - HEDGE_COST)

    def hedge_after(self, limits: TimeLimits, *, again: bool) -> float:
        """Seconds of silence after which the next key is asked beside.

        A hedge waits until most answers of this upstream would have begun: two requests are paid.
        When a tenth of the requests was hedged, a hedge waits until there is just time for it.
        `again`: for a request that is hedged already.
        """
        times = sorted(self._times)
        usual = MARGIN_FACTOR * times[ceil(0.95 * len(times)) - 1] if times else 0.0
        after = max(limits.hedge_after, usual)
        return after if again or self._saved >= HEDGE_COST else max(after, limits.fallback_after)
