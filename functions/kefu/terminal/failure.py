"""Explains a failed turn to the user of the terminal.

The explanations contain details of the upstream. The service does not show these to visitors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kefu.terminal.clean import one_line

if TYPE_CHECKING:
    from kefu.agent.react import TurnError

_OUTCOME_TEXTS: Mapping[str, str] = {
    "http_401": "HTTP 401: it does not accept the key",
    "http_402": "HTTP 402: it requires payment",
    "http_403": "HTTP 403: it does not accept the key",
    "http_404": "HTTP 404: are its address and the model right?",
    "silent": "it did not answer in time",
    "no_event": "it accepted the request and sent no answer",
    "unreachable": "it cannot be reached",
    "certificate": "its certificate is not trusted",
    "reset": "it closed the connection",
    "not_sse": "its answer is not an event stream: is its address right?",
    "malformed": "its answer cannot be parsed",
    "empty": "its answer is empty",
    "no_text": "its answer is empty",
    "cut": "it broke its answer off",
    "stalled": "it stopped in the middle of its answer",
}

_REMEDIES: Mapping[str, str] = {
    "budget_exceeded": "/clear makes room; --budget-action trim does so automatically",
    "max_steps": "--max-steps allows more",
    "context_length_exceeded": "/clear makes room",
}


def error_line(error: TurnError) -> str:
    """The error on one line, with an optional addition in parentheses.

    The addition is a remedy, else the result of the last attempt, else the time to wait.
    """
    message = one_line(error.message, 400)
    if remedy := _REMEDIES.get(error.code):
        return f"{message} ({remedy})"
    outcome = error.attempts[-1].outcome if error.attempts else ""
    if outcome and outcome != "ok":
        return f"{message} ({_OUTCOME_TEXTS.get(outcome) or outcome.replace('http_', 'HTTP ')})"
    return f"{message} (in {_time(error.retry_after)})" if error.retry_after else message


def _time(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"
