"""The time limits of a request, in one table. The setting `KEFU_PATIENCE` chooses a column.

The limits depend on each other and on those of the widget: it waits 5 s for the first byte and 10 s
between two bytes. `tests/unit/relay/test_time_limits.py` checks these relations.
"""

from __future__ import annotations

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
    """Between two reads of a running answer. Also from asking a key to asking the next one beside
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
