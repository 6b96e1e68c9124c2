"""Words with one typo: finds the words of the pages that somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kefu.knowledge.terms import runs

SHORTEST_WORD = 5
"""Characters. A shorter word has too many neighbours."""

LONGEST_WORD = 30
"""Characters. Longer words are addresses and data."""


class Spelling(NamedTuple):
    word: str
    passages: int
    """The number of passages with the word."""


def words(text: str) -> Iterator[str]:
    """The words of a text whose spelling can be compared, without words with digits."""
    for kind, run in runs(text):
        if kind == "word" and is_comparable(run):
            yield run


def is_comparable(word: str, missing: int = 0) -> bool:
    """`missing`: letters that a typo may have left out."""
    return SHORTEST_WORD - missing <= len(word) <= LONGEST_WORD and not any(map(str.isdigit, word))


def half(word: str) -> int:
    """The characters at the begin and at the end of a word, of which one typo damages only one."""
    return (len(word) - 1) // 2


def nearest(word: str, spellings: Iterable[Spelling]) -> str:
    """The most frequent of the words that differ from a word by one typo, or ""."""
    near = [one for one in spellings if differs_by_one(word, one.word)]
    return min(near, key=lambda one: (-one.passages, one.word)).word if near else ""


def differs_by_one(one: str, other: str) -> bool:
    """Whether one character is missing, added or another, or two neighbours are exchanged."""
    if abs(len(one) - len(other)) > 1:
        return False
    short, long = sorted((one, other), key=len)
    at = next((n for n, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1 :]
    exchanged = short[at + 1 : at + 2] + short[at : at + 1] + short[at + 2 :]
    return short[at + 1 :] == long[at + 1 :] or exchanged == long[at:]
