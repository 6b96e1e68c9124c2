"""Checksums by which a state recognizes its conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from zlib import crc32

from kefu.context.wire.shapes import shape_of


def mark(messages: Sequence[Any], stop: int) -> str:
    """A checksum of messages before a position; empty if there is none.

    The checksum covers the last message, those 2, 4, 8, ... before it, and the first after the
    system prompt. The checksum shows whether a state belongs to a conversation, but not a forgery.
    """
    if not 0 < stop <= len(messages):
        return ""
    older = 0
    for at in _sample(messages, stop):
        older = _checksum(messages[at], older)
    return f"{_checksum(messages[stop - 1]):08x}{older:08x}"


def belongs(messages: Sequence[Any], stop: int, known: str) -> bool:
    """Whether `known` is the mark of this position.

    States of earlier versions have a mark of one message.
    """
    made = mark(messages, stop)
    return made == known or (len(known) == _CHECKSUM_DIGITS and made.startswith(known))


_CHECKSUM_DIGITS = 8
"""Digits of a checksum."""


def _sample(messages: Sequence[Any], stop: int) -> Iterator[int]:
    """Positions of messages before the last one, few even for a long conversation."""
    back = 2
    while back <= stop:
        if shape_of(messages[stop - back], "").role != "system":
            yield stop - back
        back *= 2
    for at in range(stop):
        if shape_of(messages[at], "").role != "system":
            yield at
            return


def _checksum(message: Any, before: int = 0) -> int:
    facts = repr(shape_of(message, ""))
    return crc32(facts.encode("utf-8", "surrogatepass"), before)
