"""Switches off the terminal's echo while an answer is drawn.

An echoed `^C` would move the cursor, and the answer would be redrawn in the wrong place. Keys that
are pressed meanwhile are not lost: the next prompt shows them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def echo_off() -> Iterator[None]:
    """Switch the echo off inside the context.

    Does nothing if standard input is not a terminal, or if this process is in the background.
    """
    try:
        import termios
    except ModuleNotFoundError:  # Windows does not echo here
        yield
        return
    if not _in_foreground():
        yield
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    silent = [*before]
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, silent)
    try:
        yield
    finally:
        if _in_foreground():
            with suppress(termios.error):  # the window was closed
                termios.tcsetattr(terminal, termios.TCSANOW, before)


def _in_foreground() -> bool:
    """Whether this process is in the foreground.

    The system stops a background process that changes the terminal.
    """
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False
