"""Shows how far a command is, on one line of standard error."""

from __future__ import annotations

import sys


class ProgressLine:
    """The line; nothing is written where standard error is no terminal."""

    def __init__(self) -> None:
        self._shows = sys.stderr.isatty()

    def show(self, line: str) -> None:
        """Replace the line."""
        if self._shows:
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()

    def erase(self) -> None:
        """Remove the line. To be called before other output."""
        self.show("")
