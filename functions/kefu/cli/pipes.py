"""Streams that nobody reads any more, as behind `| head -1` or in a closed window."""

from __future__ import annotations

import os
import sys


def forget_broken_pipes() -> None:
    """To be called at the end: Python flushes its streams then, and would complain."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
