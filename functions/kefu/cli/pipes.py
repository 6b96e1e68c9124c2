"""Standard output that nobody reads any more, as behind `| head -1`: no reason to complain."""

from __future__ import annotations

import os
import sys


def forget_broken_pipe() -> None:
    """To be called at the end: Python flushes standard output then, and would say so."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
