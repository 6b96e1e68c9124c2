"""Handles standard streams that are missing (in a daemon) or closed by a reader (`| head -1`)."""

from __future__ import annotations

import os
import sys


def forget_broken_pipes() -> None:
    """Redirect broken output streams to the null device. To be called at the end of a command.

    Without this call, Python reports an error when it flushes the streams at exit.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def open_missing_streams() -> None:
    """Open missing standard streams on the null device. To be called first in a process.

    Without this call, the next opened file would get the descriptor of standard output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null_device = os.open(os.devnull, os.O_RDWR)
            if null_device != number:
                os.dup2(null_device, number)
                os.close(null_device)
            mode = "w" if number else "r"
            stream = os.fdopen(number, mode, encoding="utf-8", errors="replace", closefd=False)
            setattr(sys, name, stream)
