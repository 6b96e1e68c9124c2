"""Reads all pages of a site below one address, and reports the reason for each skipped page."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import closing
from urllib.parse import urlsplit

from kefu.knowledge.extract.files import Unreadable
from kefu.knowledge.learning import PageOutcome, State
from kefu.upstream.crawl.fetch import Fetched, Fetcher, Refused, checked
from kefu.upstream.crawl.judging import ENDS, NO_PAGES, check_text, is_passing, noted, rooted
from kefu.upstream.crawl.robots import Robots, read_robots, read_sitemaps
from kefu.upstream.reader import PageReader

MAX_PAGES = 2000
"""Maximum pages of a site."""

MAX_CRAWL_SECONDS = 1800.0
"""Maximum seconds for a whole site."""

PAUSE_SECONDS = 1.0
"""Seconds between two requests to a host, unless robots.txt asks for more."""

LONGEST_PAUSE = 30.0
"""Seconds. A robots.txt that asks for more is obeyed by reading nothing."""


class Crawler:
    """One run over one site. A crawl sends one request at a time."""

    def __init__(
        self,
        start: str,
        fetcher: Fetcher,
        agent: str,
        known: Mapping[str, State],
        note: Callable[[PageOutcome], None],
    ) -> None:
        """`known`: the last run's notes about the pages. `note` is called after each page."""
        self._start = rooted(start)
        self._fetcher = fetcher
        self._agent = agent
        self._known = known
        self._note = note
        self._reader = PageReader()
        self._robots: Robots | None = None
        self._first: Fetched | None = None
        """The start page, which is read before the others."""
        self._queue = deque[str]()
        self._queued = set[str]()
        self._outcomes = dict[str, PageOutcome]()
        self._is_partial = False
        """Whether something that leads to pages could not be read."""

    async def run(self) -> list[PageOutcome]:
        """Read the site. A page that fails does not raise: its outcome has the reason."""
        with closing(self._reader):
            return await self._run()

    async def _run(self) -> list[PageOutcome]:
        loop = asyncio.get_running_loop()
        until = loop.time() + MAX_CRAWL_SECONDS
        try:
            await self._open()
        except Refused as error:
            self._add(self._missed(self._start, error))
            return list(self._outcomes.values())
        while self._has_more() and len(self._outcomes) < MAX_PAGES and loop.time() < until:
            url = self._queue.popleft()
            self._add(await self._visit(url))
            if self._queue:
                await self._pause()
        if is_late := loop.time() >= until:
            self._enqueue_known()
        for url in self._queue:
            limit = "no time was left" if is_late else f"more than {MAX_PAGES} pages"
            kept = is_late and url in self._known
            self._add(
                PageOutcome(url, "kept" if kept else "skipped", limit, state=self._noted(url))
            )
        return list(self._outcomes.values())

    async def one(self) -> PageOutcome:
        """Read only the start page."""
        with closing(self._reader):
            try:
                return self._read(await self._get(self._start))
            except Refused as error:
                return self._missed(self._start, error)

    async def _open(self) -> None:
        """Read the rules of the host, the start page and the sitemaps. Raises Refused.

        The start may redirect to another host: `example.com` often leads to `www.example.com`.
        """
        checked(self._start)
        self._robots = await read_robots(self._start, self._agent, self._get, self._reader)
        if reason := self._robots.refusal(self._start):
            raise Refused(reason, "skipped")
        self._first = await self._get(self._start)
        if urlsplit(self._first.url).netloc != urlsplit(self._start).netloc:
            self._robots = await read_robots(self._first.url, self._agent, self._get, self._reader)
        if self._robots.delay > LONGEST_PAUSE:
            raise Refused("robots.txt asks for too long pauses", "skipped")
        self._start = self._first.url
        self._enqueue(self._start)
        get = self._get
        found, failed = await read_sitemaps(self._start, self._robots, get, self._reader)
        for outcome in failed:
            self._is_partial = True
            self._add(outcome)
        for url in found:
            self._enqueue(url)

    def _has_more(self) -> bool:
        """Read last: pages that may be linked from a page that failed."""
        if not self._queue and self._is_partial:
            self._enqueue_known()
        return bool(self._queue)

    def _enqueue_known(self) -> None:
        for url in self._known:
            self._enqueue(url)

    async def _get(self, url: str) -> Fetched:
        try:
            # Rules and sitemaps are needed even without a change.
            known = self._known if url == self._start else {}
            found = await self._fetcher.get(url, known, lambda _: "")
        except Refused as error:
            self._is_partial |= is_passing(error)
            raise
        await self._pause()
        return found

    async def _pause(self) -> None:
        if not self._fetcher.is_local:
            await asyncio.sleep(max(PAUSE_SECONDS, self._robots.delay if self._robots else 0))

    def _enqueue(self, url: str) -> None:
        url = rooted(url.partition("#")[0])
        if url not in self._queued and self._in_scope(url):
            self._queued.add(url)
            self._queue.append(url)

    def _in_scope(self, url: str) -> bool:
        try:
            start, parts = urlsplit(self._start), urlsplit(url)
        except ValueError:
            return False
        folder = start.path.rpartition("/")[0] + "/"
        return (
            (parts.scheme, parts.netloc) == (start.scheme, start.netloc)
            and (parts.path or "/").startswith(folder)
            and not parts.path.lower().endswith(NO_PAGES)
        )

    def _may(self, url: str) -> str:
        if not self._in_scope(url):
            return "leads to another site or folder"
        return self._robots.refusal(url) if self._robots else ""

    async def _visit(self, url: str) -> PageOutcome:
        try:
            if url == self._start and self._first:
                found, self._first = self._first, None
            else:
                found = await self._fetcher.get(url, self._known, self._may)
            if found.url != url:
                # The target may be in the queue as well. Whichever comes first is learnt.
                if found.url in self._queued:
                    return PageOutcome(url, "skipped", f"leads to {found.url}")
                self._queued.add(found.url)
            if found.unchanged and found.url not in self._known:
                raise Refused("304 Not Modified")
            if found.unchanged:
                self._follow(found.url)
                return PageOutcome(found.url, "unchanged", state=self._noted(found.url))
            return self._read(found)
        except Refused as error:
            self._is_partial |= is_passing(error)
            return self._missed(url, error)
        except Exception as error:  # noqa: BLE001 - the other pages must not be lost with one
            self._is_partial = True
            return self._missed(url, Refused(f"{type(error).__name__}: {error}"))

    def _follow(self, url: str) -> None:
        """Enqueue the links of a page whose text of the last run is used."""
        for link in str(self._known[url].get("links", "")).split("\n"):
            self._enqueue(link)

    def _noted(self, url: str) -> dict[str, str | int]:
        return {name: value for name, value in self._known.get(url, {}).items() if name != "gone"}

    def _read(self, found: Fetched) -> PageOutcome:
        """Read one page. Raises Refused."""
        end = ENDS.get(found.type)
        if end is None:
            raise Refused(f"{found.type} is not read", "skipped")
        try:
            read, remark = self._reader.page(found.body, end, found.url, charset=found.charset)
        except Unreadable as error:
            raise Refused(str(error)) from None
        if not read.indexed:
            raise Refused("asks not to be indexed (noindex)", "skipped")
        for link in read.links:
            self._enqueue(link)
        canonical = read.canonical.partition("#")[0]
        if canonical and canonical != found.url and self._in_scope(canonical):
            self._enqueue(canonical)
            return PageOutcome(found.url, "skipped", f"is the same page as {canonical}")
        if end == ".html":
            check_text(read)
        page, state = read.page, noted(read.page, found, read.links)
        same = self._known.get(page.url, {}).get("digest") == state["digest"]
        return PageOutcome(page.url, "unchanged" if same else "learnt", remark, page, state)

    def _missed(self, url: str, error: Refused) -> PageOutcome:
        """The outcome for a known page that failed: its last text is used, unless it is gone."""
        known = self._known.get(url)
        if known is None or error.kind == "skipped":
            return PageOutcome(url, error.kind, str(error))
        gone = int(known.get("gone", 0)) + (error.status in {404, 410})
        if gone > 1:
            return PageOutcome(url, "failed", f"{error}, for the second time: forgotten")
        self._follow(url)
        reason = f"{error}: its last text is kept"
        return PageOutcome(
            url, "kept", reason, state=self._noted(url) | ({"gone": gone} if gone else {})
        )

    def _add(self, outcome: PageOutcome) -> None:
        self._outcomes[outcome.url] = outcome
        self._note(outcome)
