"""Writes traditional Chinese characters as simplified ones, so that a question finds pages in both,
and words of Taiwan as those of the mainland, and the reverse.

Only terms are made of such a text. Visitors and the model get the page as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("simplified.txt")
"""The characters of the OpenCC project: `docs/simplified.py` writes this file and the next one."""

_WORDS = Path(__file__).with_name("taiwan.txt")
"""On each line a word of the mainland, and that of Taiwan."""


@cache
def _table() -> Mapping[int, int]:
    return str.maketrans(*_FILE.read_text(encoding="utf-8").splitlines())


def simplified(text: str) -> str:
    return text if text.isascii() else text.translate(_table())


@cache
def _words() -> tuple[Mapping[str, str], int]:
    """The word of the other region for each, and the most characters of one."""
    rows = [line.split() for line in _WORDS.read_text(encoding="utf-8").splitlines()]
    # Three are words of both regions, with two meanings.
    found = dict(rows) | {other: one for one, other in rows}
    return found, max(map(len, found))


def in_other_region(text: str) -> str:
    """A Chinese text in simplified characters, with the words of the other region: Taiwan or the
    mainland. Empty if it has no such word.
    """
    if text.isascii():
        return ""
    (words, longest), plain = _words(), simplified(text)
    parts, at = list[str](), 0
    while at < len(plain):
        sizes = range(min(longest, len(plain) - at), 1, -1)
        size = next((one for one in sizes if plain[at : at + one] in words), 1)
        part = plain[at : at + size]
        parts.append(words.get(part, part))
        at += size
    other = "".join(parts)
    return "" if other == plain else other
