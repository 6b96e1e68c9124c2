"""Removes the frame of a site: the lines that many of its pages share, such as menus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from math import ceil
from typing import NamedTuple

from kefu.knowledge.pages import Page

SHARE = 0.3
"""A line on more than this share of the pages belongs to the frame."""

FEWEST = 5
"""Pages. With fewer, a line that repeats may well be text."""

_TITLE_ENDS = (" | ", " - ", " – ", " — ", " · ", "_")


class Frame(NamedTuple):
    lines: frozenset[str] = frozenset()
    """Short hashes of the lines."""
    title_end: str = ""
    """What most titles end with, such as " | Example"."""


def frame_of(pages: Sequence[Page], known: Frame) -> Frame:
    """The frame of pages that were all read now, added to the frame of an earlier run.

    A run that reads a single changed page knows the frame of the site from the run before.
    """
    if len(pages) < FEWEST:
        return known
    counts = Counter(line for page in pages for line in {block.text for block in page.blocks})
    most = max(2, ceil(SHARE * len(pages)))
    lines = frozenset(_hash(line) for line, count in counts.items() if count > most)
    ends = Counter(_end(page.title) for page in pages)
    end, count = ends.most_common(1)[0]
    return Frame(known.lines | lines, end if count > len(pages) / 2 else known.title_end)


def cleaned(page: Page, frame: Frame) -> Page:
    """The page without its frame."""
    title = page.title
    if frame.title_end and title.endswith(frame.title_end):
        title = title[: -len(frame.title_end)].strip()
    blocks = [block for block in page.blocks if _hash(block.text) not in frame.lines]
    return page._replace(title=title or page.title, blocks=blocks)


def _hash(line: str) -> str:
    return blake2b(line.encode(errors="replace"), digest_size=8).hexdigest()


def _end(title: str) -> str:
    at = max(title.rfind(mark) for mark in _TITLE_ENDS)
    return title[at:] if at > 0 else ""
