"""Streams that are not there, as below a daemon, or that nobody reads any more (`| head -1`)."""

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


def open_missing_streams() -> None:
    """To be called first: what is opened next must not become standard output."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            mode = "w" if number else "r"
            stream = os.fdopen(number, mode, encoding="utf-8", errors="replace", closefd=False)
            setattr(sys, name, stream)
