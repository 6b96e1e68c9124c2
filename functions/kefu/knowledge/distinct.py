"""Tells pages with the same text apart from pages of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kefu.knowledge.pages import PageText


class Distinct(NamedTuple):
    pages: Sequence[PageText]
    """One page of each text, that with the shortest address."""
    same: Mapping[str, str]
    """The addresses of the others, each with the address of the page that is kept."""


def distinct(pages: Sequence[PageText]) -> Distinct:
    """Pages are the same if their titles and texts are, without the frame of their site."""
    first = dict[tuple[str, ...], PageText]()
    for page in sorted(pages, key=lambda one: (len(one.url), one.url)):
        first.setdefault(_text(page), page)
    same = {
        page.url: first[_text(page)].url
        for page in pages
        if page.blocks and first[_text(page)].url != page.url
    }
    return Distinct([page for page in pages if page.url not in same], same)


def _text(page: PageText) -> tuple[str, ...]:
    return (page.title, *(one.text for one in page.blocks))
