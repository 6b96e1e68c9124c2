"""Cuts a page into passages of about 300 tokens, along its headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kefu.knowledge.pages import Block, PageText, Passage

LARGE_PASSAGE_BYTES = 1400
"""Bytes of a passage in UTF-8, about 300 tokens. A longer section is cut between its blocks."""

SMALL_SECTION_BYTES = 160
"""Bytes. A smaller section is joined with its neighbour, up to `LARGE_PASSAGE_BYTES`."""

MAX_BLOCK_BYTES = 1800
"""Bytes of a block. A longer block is cut after a sentence, or after a word."""

_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n")


class _Section:
    def __init__(self, headings: Sequence[str], anchor: str) -> None:
        self.headings = headings
        self.anchor = anchor
        self.texts: list[str] = []
        self.inside: list[str] = []

    @property
    def size(self) -> int:
        return sum(map(_size, self.texts))


def passages(page: PageText) -> list[Passage]:
    """The passages of a page, in order; none for a page without text."""
    cut = (part for section in _sections(page.blocks, page.title) for part in _parts(section))
    return [
        Passage(
            tuple(section.headings),
            section.anchor,
            "\n".join(section.texts),
            tuple(section.inside),
        )
        for section in _joined(cut)
    ]


def _size(text: str) -> int:
    return len(text.encode(errors="replace"))


def _sections(blocks: Iterable[Block], title: str) -> Iterator[_Section]:
    """The text below each heading. A heading that repeats the page's title is left out."""
    path: list[tuple[int, str]] = []
    section = _Section((), "")
    for block in blocks:
        if not block.level:
            if block.text != title:
                section.texts.append(block.text)
            continue
        yield section
        while path and path[-1][0] >= block.level:
            path.pop()
        if block.text != title or path:
            path.append((block.level, block.text))
        section = _Section([text for _, text in path], block.anchor)
    yield section


def _parts(section: _Section) -> Iterator[_Section]:
    part = _Section(section.headings, section.anchor)
    for text in (piece for whole in section.texts for piece in _pieces(whole)):
        if part.texts and part.size + _size(text) > LARGE_PASSAGE_BYTES:
            yield part
            part = _Section(section.headings, section.anchor)
        part.texts.append(text)
    if part.texts or section.headings:
        yield part


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces of at most `MAX_BLOCK_BYTES` bytes."""
    if _size(text) <= MAX_BLOCK_BYTES:
        yield text
        return
    piece = ""
    for sentence in _END.split(text):
        for words in _limited(sentence):
            if piece and _size(piece) + _size(words) > LARGE_PASSAGE_BYTES:
                yield piece
                piece = ""
            piece = f"{piece} {words}" if piece and piece.isascii() else piece + words
    if piece:
        yield piece


def _limited(text: str) -> Iterator[str]:
    """A sentence without end, such as a list of codes, is cut at spaces or anywhere."""
    while _size(text) > MAX_BLOCK_BYTES:
        room = text[: LARGE_PASSAGE_BYTES // 3]
        cut = room.rfind(" ") + 1 or len(room)
        yield text[:cut]
        text = text[cut:]
    yield text


def _joined(parts: Iterable[_Section]) -> Iterator[_Section]:
    """Small neighbours become one passage; each keeps its own heading as a line of its text."""
    kept: _Section | None = None
    for part in parts:
        if kept and kept.texts and _fits(kept.size, part.size):
            own = [text for text in part.headings if text not in kept.headings]
            kept.inside += own
            kept.texts += own + part.texts
            continue
        if kept and kept.texts:
            yield kept
            kept = part
        else:
            kept = _under(kept, part) if kept else part
    if kept and kept.texts:
        yield kept


def _fits(size: int, other: int) -> bool:
    return min(size, other) < SMALL_SECTION_BYTES and size + other <= LARGE_PASSAGE_BYTES


def _under(empty: _Section, part: _Section) -> _Section:
    """A section of only a heading; the next one is shown with it."""
    own = [text for text in empty.headings if text not in part.headings]
    part.inside[:0] = own
    part.texts[:0] = own
    return part
