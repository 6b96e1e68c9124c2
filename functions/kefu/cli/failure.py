"""Why a turn has no answer, for whoever runs the chat: a service tells its visitors less."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kefu.cli.clean import one_line

if TYPE_CHECKING:
    from kefu.react import TurnError

_OUTCOMES: Mapping[str, str] = {
    "http_401": "HTTP 401: it does not accept the key",
    "http_402": "HTTP 402: it wants to be paid",
    "http_403": "HTTP 403: it does not accept the key",
    "http_404": "HTTP 404: is its address right?",
    "silent": "it did not answer in time",
    "no_event": "it began to answer and then said nothing",
    "unreachable": "it cannot be reached",
    "certificate": "its certificate is not trusted",
    "reset": "it closed the connection",
    "not_sse": "its answer is no stream of events: is its address right?",
    "malformed": "its answer makes no sense",
    "empty": "its answer is empty",
}

_WAYS_OUT: Mapping[str, str] = {
    "budget_exceeded": "/clear makes room; so does --budget-action trim, by itself",
    "max_steps": "--max-steps allows more",
    "context_length_exceeded": "/clear makes room",
}


def told(error: TurnError) -> str:
    """The error on one line, with what became of the last call, how long to wait or what to do."""
    said = one_line(error.message, 400)
    if way := _WAYS_OUT.get(error.code):
        return f"{said} ({way})"
    outcome = error.attempts[-1].outcome if error.attempts else ""
    if outcome and outcome != "ok":
        return f"{said} ({_OUTCOMES.get(outcome) or outcome.replace('http_', 'HTTP ')})"
    return f"{said} (in {_time(error.retry_after)})" if error.retry_after else said


def _time(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"
