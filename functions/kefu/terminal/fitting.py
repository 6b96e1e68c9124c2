"""Breaks lines to the width of a terminal.

The module imports little, because it is needed before the prompt is shown.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TextIO

_COLUMN = re.compile(" *\\S+ {2,}")


def width_of(stream: TextIO) -> int:
    """The number of columns of a terminal; for any other stream, a very large number."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or sys.maxsize
    except (OSError, ValueError):
        return sys.maxsize


def fitted(text: str, width: int) -> str:
    """The text with long lines broken between words.

    Continuation lines are indented to the second column of the line, or by two spaces.
    """
    if all(len(line) <= width for line in text.split("\n")):
        return text
    return "\n".join(_broken(line, width) for line in text.split("\n"))


def _broken(line: str, width: int) -> str:
    from textwrap import TextWrapper

    column = _COLUMN.match(line)
    indent = column.end() if column and column.end() <= width // 2 else 2
    broken = TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    broken.subsequent_indent = " " * indent
    return broken.fill(line)
