"""Answers the events on stdin with the handler of `kefu.lambda_handler`, as Lambda would.

In a process of its own, because that module reads the environment when it is imported.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Sequence


class Context:
    def __init__(self, seconds: str) -> None:
        self._ends = time.monotonic() + float(seconds)

    def get_remaining_time_in_millis(self) -> int:
        return int(1000 * (self._ends - time.monotonic()))


def main(seconds: Sequence[str]) -> int:
    """`seconds`: the time for each event; without it, the handler is given no context."""
    warnings.simplefilter("error")
    from kefu.lambda_handler import handler

    events = json.load(sys.stdin)
    answers = [handler(event, Context(*seconds) if seconds else None) for event in events]  # type: ignore[arg-type]
    json.dump(answers, sys.stdout)
    return 0
