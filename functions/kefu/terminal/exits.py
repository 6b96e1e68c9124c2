"""The exit codes of `kefu chat`; docs/cli.md lists them."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kefu.agent.react import TurnResult

INTERRUPTED_EXIT = 130
OUTPUT_CLOSED = 141
"""The code of a program that SIGPIPE ends."""

ENDED_BY = {signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGINT: INTERRUPTED_EXIT}

_EXIT_BY_STATUS = {"ok": 0, "error": 1, "max_steps": 3, "interrupted": INTERRUPTED_EXIT}


def code_once(result: TurnResult) -> int:
    """The exit code of a chat with one turn."""
    if result.error and result.error.code == "budget_exceeded":
        return 4
    return _EXIT_BY_STATUS[result.status]


def code_of_many(code: int, result: TurnResult) -> int:
    """The exit code of a script's chat after one more turn: 1 after the first failed turn."""
    return code or int(result.status in ("error", "max_steps"))
