"""The pages of a site, and the passages into which they are cut."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple


class Block(NamedTuple):
    """A paragraph, a list item, a table row or a heading of a page."""

    text: str
    level: int = 0
    """1 to 6 for a heading, 0 for text."""
    anchor: str = ""
    """The id of a heading, for a link to it."""
    linked: bool = False
    """Whether all words of the block are links within the site, as in a menu."""
    outside: bool = False
    """Whether the block is outside of the main part of its page, such as in a footer."""
    head: str = ""
    """The header row of the table that the block is a row of."""
    apart: bool = False
    """Whether a part of the page begins here that counts as a page of its own, such as a page of a
    PDF or a row of a table of questions. The text is the title of the part, unless it is empty.
    """


class PageText(NamedTuple):
    """The text of one page, in reading order."""

    url: str
    """The page's address, or the file's path. Only an http(s) address becomes a link."""
    title: str
    blocks: Sequence[Block]
    language: str = ""
    """The language as the page names it, such as `de` or `zh-CN`; empty when it names none."""


class Passage(NamedTuple):
    """A part of a page that is short enough to be given to the model."""

    headings: Sequence[str]
    """The headings above the passage, without the page's title."""
    anchor: str
    text: str
    inside: Sequence[str] = ()
    """The headings of smaller sections within the passage."""


class FiledPage(NamedTuple):
    """A page, or a part that counts as one, as the file has it."""

    number: int
    source: str
    title: str
    passages: Sequence[Passage]


def page_id(source: str) -> str:
    """A name for a page without an address on the web. It does not show the path of the file."""
    return hashlib.sha256(source.encode(errors="replace")).hexdigest()[:16]
