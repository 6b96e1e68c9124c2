"""Where a text says the same thing over and over: what a tokenizer is slow at.

A stretch of one character, or of a few that take turns, becomes one long word for a tokenizer,
and a token of it may be 128 characters long. Only such stretches matter here; see `bpe.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from unicodedata import category

_STEP = 512
SHORTEST = 2 * _STEP
"""Every repetition of so many characters is found; shorter ones, by chance."""
_LOOK = 96
_LONGEST_UNIT = 32

# Numbers, what stands for nothing, and what Unicode has not given a meaning.
_UNSURE = {"Nd", "Nl", "No", "Cs", "Cn"}
_WHITE = frozenset(" \t\n\v\f\r")


@dataclass(frozen=True, slots=True)
class Repeat:
    """`text[start:end]` is `unit` over and over, and perhaps a beginning of it at the end."""

    start: int
    end: int
    unit: str


def repeats(text: str) -> Iterator[Repeat]:
    """In order, and apart from each other."""
    done = 0
    for at in range(0, len(text) - _LOOK + 1, _STEP):
        if at >= done:
            size = _period(text[at : at + _LOOK])
            if size and _is_one_word(text[at : at + size]):
                start, end = _extent(text, at, size, done)
                yield Repeat(start, end, text[start : start + size])
                done = end


def _period(window: str) -> int:
    """After how many characters, at most 32, the window begins anew; 0: it does not."""
    size = window.find(window[: _LOOK - _LONGEST_UNIT], 1)
    return size if size > 0 and window[size:] == window[:-size] else 0


def _extent(text: str, at: int, size: int, floor: int) -> tuple[int, int]:
    """How far the repetition goes to both sides, in strides that double while they fit."""
    end = at + size
    stride = _LOOK
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
    """Whether the encodings' patterns see one word in any number of it: all of one kind.

    Digits go by threes, so they are never long. Beyond ASCII only one and the same character is
    taken, and one that Unicode has named: Rust's tables and Python's may be of different age.
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
