"""Finds long repetitions in a text, because a tokenizer is slow at them; see `bpe.py`.

A repetition repeats one character or a short group of characters. A tokenizer treats a repetition
as a single long word; one of its tokens may have 128 characters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from unicodedata import category

_STEP_CHARS = 512
MIN_REPETITION_CHARS = 2 * _STEP_CHARS
"""Characters. Every repetition of this length is found; a shorter one may be missed."""
_LOOK_CHARS = 64
_LONGEST_UNIT = 512

# Unicode categories of numbers, surrogates and unassigned characters.
_UNSURE = {"Nd", "Nl", "No", "Cs", "Cn"}
_WHITE = frozenset(" \t\n\v\f\r")


@dataclass(frozen=True, slots=True)
class Repeat:
    """`text[start:end]` repeats `unit`; the last repetition may be incomplete."""

    start: int
    end: int
    unit: str


def repeats(text: str) -> Iterator[Repeat]:
    """Yields the repetitions of a text in order, without overlaps."""
    done = 0
    for at in range(0, len(text) - _LOOK_CHARS + 1, _STEP_CHARS):
        if at >= done:
            size = _period(text, at)
            if size and _is_one_word(text[at : at + size]):
                start, end = _extent(text, at, size, done)
                yield Repeat(start, end, text[start : start + size])
                done = end


def _period(text: str, at: int) -> int:
    """The number of characters until the text at this position comes again; 0 if it does not."""
    again = text.find(text[at : at + _LOOK_CHARS], at + 1, at + _LONGEST_UNIT + _LOOK_CHARS)
    return max(0, again - at)


def _extent(text: str, at: int, size: int, floor: int) -> tuple[int, int]:
    """Returns `(start, end)` of the repetition. The end is found in strides that double."""
    end = at + size
    stride = _LOOK_CHARS
    while stride:
        fits = end + stride <= len(text)
        if fits and text[end : end + stride] == text[end - size : end - size + stride]:
            end += stride
            stride *= 2
        else:
            stride //= 2
    start = at
    while start > floor and text[start - 1] == text[start - 1 + size]:
        start -= 1
    return start, end


def _is_one_word(unit: str) -> bool:
    """Whether the encodings' patterns match any number of repetitions of `unit` as one word.

    Digits are matched in groups of three, so they never form a long word. Outside of ASCII, only a
    single repeated character is accepted, and only if Unicode assigns it. The reason: the Unicode
    tables of Rust and Python may have different versions.
    """
    if len(set(unit)) == 1:
        return category(unit[0]) not in _UNSURE
    if not unit.isascii() or any(c.isdigit() for c in unit):
        return False
    kinds = {_kind(character) for character in unit}
    return len(kinds) == 1


def _kind(character: str) -> str:
    if character in _WHITE:
        return "white"
    return category(character) if character.isalpha() else "mark"
