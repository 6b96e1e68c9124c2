"""A terminal that does not show what is typed while an answer is drawn on it.

A `^C` where the cursor stands moves it, and what is drawn next misses its place. What is typed
ahead is not lost: it stands at the next prompt.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def unechoed() -> Iterator[None]:
    """Nothing changes where standard input is no terminal of this process's."""
    try:
        import termios
    except ModuleNotFoundError:  # Windows, which shows nothing by itself
        yield
        return
    if not _in_front():
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
        if _in_front():
            with suppress(termios.error):  # the window was closed
                termios.tcsetattr(terminal, termios.TCSANOW, before)


def _in_front() -> bool:
    """A job in the background would be stopped for it: the terminal is somebody else's."""
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False
