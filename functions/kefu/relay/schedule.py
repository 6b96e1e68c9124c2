"""Decides when another key is asked beside a silent one, and when the search for an answer ends.

All times are those of the monotonic clock.
"""

from __future__ import annotations

from collections.abc import Sequence

from kefu.relay.attempt import RunningAttempt
from kefu.relay.completion_stream import Call
from kefu.relay.time_limits import TimeLimits

AT_ONCE = 2
"""Keys that may be asked at the same time, since each of them may be billed."""

NEVER = float("inf")


THOUGHT = 3
"""Keys that may each think for `stall` seconds, without any content."""


def ask_at(
    call: Call, running: Sequence[RunningAttempt], limits: TimeLimits, hedge_after: float
) -> float:
    """The time at which another key is to be asked. `running`: in the order of asking.

    `hedge_after`: seconds, as in `TimeLimits`, for this upstream. A key that is only tried again is
    no reason to wait.
    """
    asked = [one for one in running if not one.tried_again] or running
    if not asked:
        return -NEVER
    first, newest = asked[0], asked[-1]
    if len(asked) < AT_ONCE:
        # A model that has answered with status 200 may be thinking, and both would be billed.
        wait = limits.stall if newest.answered else hedge_after
        return newest.started + wait
    if first.provider is not newest.provider:
        return NEVER
    if first.answered or newest.answered:
        return newest.started + limits.stall
    # Two keys of one silent upstream: the other upstream gets a chance before time is up.
    return call.started + limits.fallback_after


def deadline(
    call: Call, running: Sequence[RunningAttempt], limits: TimeLimits, now: float
) -> float:
    """The time at which the search ends without an answer."""
    end = call.started + limits.max_duration
    if thinking := [attempt for attempt in running if attempt.answered]:
        gave_up = sum(attempt.outcome == "no_event" for attempt in call.attempts)
        enough = gave_up + len(thinking) >= THOUGHT
        return min(end, thinking[-1].started + limits.stall) if enough else end
    since = call.started
    if call.gate_open:  # the client gets pings, so each key has the time of the first one
        since = running[-1].started if running else now
    return min(since + limits.first_byte, end)
