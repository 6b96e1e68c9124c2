"""Passages and pages as they are stored: compressed together, because they share words."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence

from kefu.knowledge.learning import Learnt
from kefu.knowledge.pages import Block, PageText, Passage

LZMA_QUICK = 1
"""The preset of LZMA for many pages. Its usual one takes eight times as long for a seventh less."""

FEW_BYTES = 2_000_000
"""Pages up to this size are compressed with LZMA's usual preset, in about a second."""


def packed(passages: Sequence[Passage]) -> bytes:
    return zlib.compress(as_json([list(one) for one in passages]).encode(), 9)


def unpacked(data: bytes) -> list[Passage]:
    return [Passage(*one) for one in json.loads(zlib.decompress(data))]


def packed_pages(pages: Iterable[Learnt]) -> bytes:
    """Pages as they were read."""
    import lzma

    lines = (as_json([*page, dict(state)]) for page, state in pages)
    text = "\n".join(lines).encode()
    return lzma.compress(text, preset=None if len(text) <= FEW_BYTES else LZMA_QUICK)


def unpacked_pages(data: bytes) -> Iterator[Learnt]:
    import lzma

    for line in lzma.decompress(data).split(b"\n"):
        url, title, blocks, language, state = json.loads(line)
        yield Learnt(PageText(url, title, [Block(*one) for one in blocks], language), state)


def as_json(value: object) -> str:
    """JSON on one line. A lone surrogate, which UTF-8 cannot express, becomes a question mark."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="replace").decode()
