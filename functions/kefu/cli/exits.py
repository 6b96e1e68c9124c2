"""With which code the chat ends; docs/cli.md lists them."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kefu.react import TurnResult

INTERRUPTED = 130
NOBODY_READS = 141
"""As a program has that SIGPIPE ends."""

ENDED_BY = {signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGINT: INTERRUPTED}

_ONCE = {"ok": 0, "error": 1, "max_steps": 3, "interrupted": INTERRUPTED}


def code_once(result: TurnResult) -> int:
    """Of a chat of one turn."""
    if result.error and result.error.code == "budget_exceeded":
        return 4
    return _ONCE[result.status]


def code_of_many(code: int, result: TurnResult) -> int:
    """Of a chat that a script leads: what it was, and 1 once a turn had no answer."""
    return code or int(result.status in ("error", "max_steps"))
