"""A page under several addresses is one page."""

from __future__ import annotations

from kefu.knowledge.distinct import distinct
from kefu.knowledge.pages import Block, PageText


def page(url: str, title: str = "Tents", *texts: str) -> PageText:
    return PageText(url, title, [Block(one) for one in texts])


def test_k8_the_shortest_address_of_equal_pages_is_kept() -> None:
    pages = [page(url, "Tents", "Blue.") for url in ("/a/index.html", "/b", "/a", "/a/")]
    found = distinct(pages)
    assert [one.url for one in found.pages] == ["/a"]
    assert found.same == {"/a/index.html": "/a", "/b": "/a", "/a/": "/a"}


def test_k8_pages_with_another_title_or_text_or_without_text_are_their_own() -> None:
    pages = [
        page("/a", "Tents", "Blue."),
        page("/b", "Boots", "Blue."),
        page("/c", "Tents", "Red."),
    ]
    pages += [page("/d"), page("/e")]
    assert distinct(pages) == (pages, {})
