"""Checksums by which a state recognizes its conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

from kefu.context.wire.shapes import shape_of


def mark(messages: Sequence[Any], stop: int) -> str:
    """A checksum of the message before a position; empty if there is none.

    It shows whether a state belongs to a conversation, and is no protection against forgery.
    """
    if not 0 < stop <= len(messages):
        return ""
    facts = repr(shape_of(messages[stop - 1], ""))
    return f"{crc32(facts.encode('utf-8', 'surrogatepass')):08x}"
