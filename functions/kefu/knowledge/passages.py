"""Cuts a page into passages of about 300 tokens, along its headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from kefu.knowledge.pages import Block, PageText, Passage

LARGE_PASSAGE_BYTES = 1400
"""Bytes of a passage in UTF-8, about 300 tokens. A longer section is cut between its blocks."""

SMALL_SECTION_BYTES = 160
"""Bytes. A smaller section is joined with its neighbour, up to `LARGE_PASSAGE_BYTES`."""

MAX_BLOCK_BYTES = 1800
"""Bytes of a block. A longer block is cut after a sentence, or after a word."""

_LINE = re.compile(r"(?<=\n)")
_SENTENCE = re.compile(r"(?<=[.!?;])(?=\s)|(?<=[。！？；])")


class _Section:
    def __init__(self, headings: Sequence[str], anchor: str) -> None:
        self.headings = headings
        self.anchor = anchor
        self.texts: list[str] = []
        self.heads: list[str] = []
        """The header row of each text; empty for a text that is no row of a table."""
        self.inside: list[str] = []

    @property
    def size(self) -> int:
        return sum(map(_size, self.texts))

    @property
    def is_bare(self) -> bool:
        """Whether the section has only headings."""
        return len(self.texts) == len(self.inside)


def parts(page: PageText) -> Iterator[PageText]:
    """The parts of a page that count as pages of their own; the page itself if it has none."""
    starts = [at for at, block in enumerate(page.blocks) if block.apart]
    ends = [*starts, len(page.blocks)]
    if ends[0]:
        yield page._replace(blocks=page.blocks[: ends[0]])
    for start, end in pairwise(ends):
        title = page.blocks[start].text or page.title
        yield page._replace(title=title, blocks=page.blocks[start:end])


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


def _sections(blocks: Sequence[Block], title: str) -> Iterator[_Section]:
    """The text below each heading. A heading that repeats the page's title is left out."""
    path: list[tuple[int, str]] = []
    section = _Section((), blocks[0].anchor if blocks and blocks[0].apart else "")
    for block in blocks:
        if not block.level:
            if block.text and block.text != title:
                section.texts.append(block.text)
                section.heads.append(block.head)
            continue
        yield section
        while path and path[-1][0] >= block.level:
            path.pop()
        if block.text != title or path:
            path.append((block.level, block.text))
        section = _Section([text for _, text in path], block.anchor)
    yield section


def _parts(section: _Section) -> Iterator[_Section]:
    """The section in parts of a passage's size. Each part of a table has its header row."""
    part = _Section(section.headings, section.anchor)
    for whole, head in zip(section.texts, section.heads, strict=True):
        for text in _pieces(whole):
            if part.texts and part.size + _size(text) > LARGE_PASSAGE_BYTES:
                yield part
                part = _Section(section.headings, section.anchor)
                if head and _size(head) < SMALL_SECTION_BYTES:
                    part.texts.append(head)
            part.texts.append(text)
    if part.texts or section.headings:
        yield part


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces of at most `MAX_BLOCK_BYTES` bytes, cut after a line or a sentence."""
    if _size(text) <= MAX_BLOCK_BYTES:
        yield text
        return
    piece, size = "", 0
    for line in _LINE.split(text):
        for sentence in (line,) if _size(line) <= MAX_BLOCK_BYTES else _SENTENCE.split(line):
            for words in _limited(sentence):
                if piece and size + _size(words.strip()) > LARGE_PASSAGE_BYTES:
                    yield piece.strip("\n").rstrip()
                    piece, size = "", 0
                size += _size(words.strip())
                is_inside = piece or "\n" in text  # the indent of a line of code stays
                piece += words if is_inside else words.lstrip(" ")
    if piece.strip():
        yield piece.strip("\n").rstrip()


def _limited(text: str) -> Iterator[str]:
    """A sentence without end, such as a list of codes, is cut at spaces or anywhere."""
    while _size(text) > MAX_BLOCK_BYTES:
        room = text[: LARGE_PASSAGE_BYTES // 3]
        cut = room.rfind(" ") + 1 or len(room)
        yield text[:cut]
        text = text[cut:]
    yield text


def _joined(parts: Iterable[_Section]) -> Iterator[_Section]:
    """Small neighbours become one passage; each keeps its own heading as a line of its text, with
    those above it that the neighbour before it does not have.
    """
    kept: _Section | None = None
    above: Sequence[str] = ()
    for part in parts:
        if kept and kept.is_bare:
            kept = _under(kept, part)
        elif kept and _fits(kept.size, part.size):
            paths = enumerate(part.headings, 1)
            own = [text for n, text in paths if part.headings[:n] != above[:n]]
            kept.inside += own
            kept.texts += own + part.texts
        else:
            if kept:
                yield kept
            kept = part
        above = part.headings
    if kept and kept.texts:
        yield kept


def _fits(size: int, other: int) -> bool:
    return min(size, other) < SMALL_SECTION_BYTES and size + other <= LARGE_PASSAGE_BYTES


def _under(bare: _Section, part: _Section) -> _Section:
    """A section of only headings; the next one is shown with it, and has its own anchor."""
    own = [text for text in (*bare.inside, *bare.headings) if text not in part.headings]
    part.inside[:0] = own
    part.texts[:0] = own
    return part
