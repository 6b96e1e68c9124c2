"""Reads a feed of products at one address, or says that it did not change."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from kefu.knowledge.extract.feed import FEED_ENDS
from kefu.knowledge.extract.files import Unreadable
from kefu.knowledge.learning import PageOutcome, State
from kefu.upstream.crawl.fetch import Fetched, Fetcher, Refused
from kefu.upstream.crawl.judging import state_of
from kefu.upstream.reader import PageReader


def feed_end(source: str) -> str:
    """The kind of feed that a source is, by the end of its path; "" for a site."""
    try:
        end = PurePosixPath(urlsplit(source).path).suffix.lower()
    except ValueError:
        return ""
    return end if end in FEED_ENDS else ""


async def read_feed_at(url: str, fetcher: Fetcher, known: Mapping[str, State]) -> list[PageOutcome]:
    """An outcome for each item. The items of the last run are used if the feed did not change or
    cannot be read.
    """
    url = fetcher.sign_in(url)
    items = {page: state for page, state in known.items() if state.get("feed") == url}
    try:
        found = await fetcher.get(url, {url: next(iter(items.values()), {})}, lambda _: "")
        if found.unchanged:
            return [PageOutcome(page, "unchanged", state=state) for page, state in items.items()]
        return feed_outcomes(url, found, items)
    except (Refused, Unreadable) as error:
        kept = [
            PageOutcome(page, "kept", f"{error}: its last text is kept", state=state)
            for page, state in items.items()
        ]
        return kept or [PageOutcome(url, "failed", str(error))]


def feed_outcomes(url: str, found: Fetched, known: Mapping[str, State]) -> list[PageOutcome]:
    """The items of a feed. Raises Unreadable."""
    with closing(PageReader()) as reader:
        pages, remark = reader.feed(found.body, feed_end(url), found.url, charset=found.charset)
    outcomes = [PageOutcome(url, "skipped", remark)] if remark else []
    for page in pages:
        state = state_of(page, found, feed=url)
        same = known.get(page.url, {}).get("digest") == state["digest"]
        outcomes.append(PageOutcome(page.url, "unchanged" if same else "learnt", "", page, state))
    return outcomes
