"""Writes traditional Chinese characters as simplified ones, so that a question finds pages in both.

Only terms are made of such a text. Visitors and the model get the page as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("simplified.txt")
"""The characters of the OpenCC project: `docs/simplified.py` writes the file."""


@cache
def _table() -> Mapping[int, int]:
    return str.maketrans(*_FILE.read_text(encoding="utf-8").splitlines())


def simplified(text: str) -> str:
    return text if text.isascii() else text.translate(_table())
