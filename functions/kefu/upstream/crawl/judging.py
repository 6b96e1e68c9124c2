"""Judges the files of a site: which are read and learnt, and what is noted about them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from urllib.parse import urljoin, urlsplit

from kefu.knowledge.extract.html import Html
from kefu.knowledge.learning import READER_VERSION, TRANSLATIONS, State
from kefu.knowledge.pages import PageText
from kefu.upstream.crawl.fetch import Fetched, Refused

ENDS = {
    "": ".html",
    "application/xhtml+xml": ".html",
    "text/html": ".html",
    "application/pdf": ".pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "text/csv": ".csv",
    "text/markdown": ".md",
    "text/plain": ".txt",
}
"""The end of a file's name for a media type that is read."""


def end_of(found: Fetched) -> str:
    """The end of a file's name by which the file is read. Raises Refused for no text."""
    end = ENDS.get(found.type)
    if end is None:
        raise Refused(f"{found.type} is not read", "skipped")
    is_markdown = end == ".txt" and urlsplit(found.url).path.endswith((".md", ".mdx"))
    return ".md" if is_markdown else end


def check_text(read: Html) -> None:
    """Raises Refused for a page without text of its own."""
    if read.asks_for_login:
        raise Refused("asks for a sign-in", "skipped")
    if read.needs_script:
        raise Refused("shows its text only with JavaScript", "skipped")
    if not read.page.blocks:
        raise Refused("has no text", "skipped")


def is_passing(error: Refused) -> bool:
    """Whether the page may be there again in the next run."""
    return error.kind == "failed" and not 400 <= error.status < 500


def noted(read: Html, found: Fetched, translations: Sequence[str]) -> State:
    """Data for the next run, which follows the links of unchanged pages without reading these."""
    root = urljoin(found.url, "/")
    links = "\n".join(link for link in read.links if link.startswith(root))
    more = {"notes": "\n".join(read.notes), TRANSLATIONS: "\n".join(translations)}
    return state_of(read.page, found, links=links, **more)


def state_of(page: PageText, found: Fetched, **more: str) -> State:
    """What the next run compares, and what it sends back to the server. Empty notes are left out.

    `found`: the page, or the feed that the page is an item of.
    """
    text = json.dumps([page.title, page.language, [list(block) for block in page.blocks]])
    digest = hashlib.blake2b(text.encode(errors="replace"), digest_size=16).hexdigest()
    notes = {"etag": found.etag, "modified": found.modified, **more}
    return {
        "digest": digest,
        "reader": READER_VERSION,
        **{name: value for name, value in notes.items() if value},
    }
