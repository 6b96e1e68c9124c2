"""Reads all pages of a site below one address, and reports the reason for each skipped page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import closing
from heapq import heappop, heappush
from itertools import chain
from urllib.parse import urlsplit

from kefu import __version__
from kefu.knowledge.extract.files import Unreadable
from kefu.knowledge.extract.html import may_be_followed, may_be_indexed
from kefu.knowledge.learning import TRANSLATIONS, PageOutcome, State
from kefu.upstream.crawl.fetch import Fetched, Fetcher, Refused, checked
from kefu.upstream.crawl.judging import check_text, end_of, is_passing, noted
from kefu.upstream.crawl.robots import Robots, Sitemap, read_robots, read_sitemaps
from kefu.upstream.crawl.scope import Scope, made_from
from kefu.upstream.reader import PageReader

ROBOTS_AGENT = f"Kefu/{__version__}"
"""The name to which rules in robots.txt may apply."""

MAX_PAGES = 2000
"""Maximum pages of a site that a run reads, unless its owner names another number."""

MAX_CRAWL_SECONDS = 1800.0
"""Maximum seconds for each `MAX_PAGES` pages."""

PAUSE_SECONDS = 1.0
"""Seconds between two requests to a host, unless robots.txt asks for more."""

LONGEST_PAUSE = 30.0
"""Seconds. A robots.txt that asks for more is obeyed by reading nothing."""

_CUT = "cut"
"""Notes that a run of the site had to leave pages for the next run, and the addresses that were no
pages, one on each line.
"""
_LEFT = "left"
"""Notes the number of runs that left a page."""
MAX_CUTS = 1000
"""Runs that are counted."""


class Crawler:
    """One run over one site. A crawl sends one request at a time."""

    def __init__(
        self,
        start: str,
        fetcher: Fetcher,
        agent: str,
        known: Mapping[str, State],
        note: Callable[[PageOutcome], None],
        max_pages: int = MAX_PAGES,
    ) -> None:
        """`known`: the last run's notes about the pages. `note` is called after each page."""
        self._scope = Scope(fetcher.sign_in(start))
        self._max_pages = max_pages
        self._fetcher = fetcher
        self._agent = agent
        self._known = known
        self._note = note
        self._reader = PageReader()
        self._robots: Robots | None = None
        self._first: Fetched | None = None
        """The start page, which is read before the others."""
        self._queue: list[tuple[int, int, str]] = []
        """A heap of addresses, each with its rank and its number."""
        cuts = [str(state[_CUT]) for state in known.values() if _CUT in state]
        self._was_cut = bool(cuts)
        self._no_pages = set("\n".join(cuts).split("\n"))
        self._queued = set[str]()
        self._outcomes = dict[str, PageOutcome]()
        self._leads = set[tuple[str, str]]()
        """Two addresses each: the first leads to the second by a redirect, or as its canonical.
        Two that lead to each other are one page.
        """
        self._translations = dict[str, str]()
        """By a page's address: its addresses in all languages in a sitemap, one a line."""
        self._is_partial = False
        """Whether something that leads to pages could not be read."""

    async def run(self) -> list[PageOutcome]:
        """Read the site. A page that fails does not raise: its outcome has the reason."""
        with closing(self._reader):
            return await self._run()

    async def _run(self) -> list[PageOutcome]:
        loop = asyncio.get_running_loop()
        until = loop.time() + MAX_CRAWL_SECONDS * max(1, self._max_pages / MAX_PAGES)
        try:
            await self._open()
        except Refused as error:
            self._add(self._missed(self._scope.start, error))
            return list(self._outcomes.values())
        read = 1
        while self._has_more() and read < self._max_pages and loop.time() < until:
            url = heappop(self._queue)[2]
            if self._is_source(url):
                continue
            read += 1
            self._add(await self._visit(url))
            if self._queue:
                await self._pause()
        is_late = loop.time() >= until
        self._leave("no time was left" if is_late else f"more than {self._max_pages} pages")
        return list(self._outcomes.values())

    def _is_source(self, url: str) -> bool:
        """Whether a file, such as one behind "View as Markdown", has the text of a page again."""
        pages = (self._outcomes.get(one) for one in made_from(url))
        return any(one is not None and bool(one.state) for one in pages)

    def _leave(self, reason: str) -> None:
        """Leave the rest for the next run. The last text of known pages is used until then."""
        if self._queue:
            self._enqueue_known()
            asked = {url for url, one in self._outcomes.items() if not one.state}
            no_pages = "\n".join(sorted((self._no_pages | asked) & self._queued))
            start = self._outcomes.get(self._scope.start)
            if start and start.state:
                self._outcomes[start.url] = start._replace(state={**start.state, _CUT: no_pages})
        for _, _, url in sorted(self._queue):
            if url in self._known:
                self._add(PageOutcome(url, "unchanged", state=self._left(url)))
            else:
                self._add(PageOutcome(url, "skipped", reason))

    def _left(self, url: str) -> State:
        runs = 1 + int(self._known[url].get(_LEFT, 0))
        return {**self._noted(url), _LEFT: min(runs, MAX_CUTS - 1)}

    async def one(self) -> PageOutcome:
        """Read only the start page, or the page of its host to which it leads."""
        start = self._scope.address(self._scope.start)
        with closing(self._reader):
            try:
                found = await self._fetcher.get(start, {}, self._stays)
                self._leads.add((start, found.url))
                # In a thread, because the reader's process is waited for.
                return await asyncio.to_thread(self._read, found)
            except Refused as error:
                return self._missed(start, error)

    def _stays(self, url: str) -> str:
        return "" if self._scope.has_host(url) else f"leads to another host: {url}"

    async def _open(self) -> None:
        """Read the rules of the host, the start page and the sitemaps. Raises Refused.

        The links of the start page, such as its menu, come before the posts in a sitemap.
        The start may redirect to another host: `example.com` often leads to `www.example.com`.
        """
        asked = self._scope.start
        checked(asked)
        self._robots = await read_robots(asked, self._agent, self._get, self._reader)
        if reason := self._robots.refusal(asked):
            raise Refused(reason, "skipped")
        self._first = await self._get(asked)
        if urlsplit(self._first.url).netloc != urlsplit(asked).netloc:
            self._robots = await read_robots(self._first.url, self._agent, self._get, self._reader)
        if self._robots.delay > LONGEST_PAUSE:
            raise Refused("robots.txt asks for too long pauses", "skipped")
        self._scope = Scope(self._first.url, asked)
        self._enqueue(self._scope.start)
        get = self._get
        found, failed = await read_sitemaps(self._scope, self._robots, get, self._reader)
        for outcome in failed:
            self._is_partial = True
            self._add(outcome)
        for sitemap in found:
            self._use(sitemap)
        if self._queue:
            self._add(await self._visit(heappop(self._queue)[2]))
        for url in chain.from_iterable(sitemap.urls for sitemap in found):
            self._enqueue(url)
        if self._was_cut:
            for url in self._known:
                self._follow(url)
            self._enqueue_known()

    def _use(self, sitemap: Sitemap) -> None:
        """Note the translations of a sitemap, and report its pages that are not used."""
        other = [url for url in sitemap.urls if not self._scope.has(self._scope.address(url))]
        for url, others in sitemap.translations.items():
            addresses = map(self._scope.address, others)
            self._translations[self._scope.address(url)] = "\n".join(addresses)
        if other:
            used = f"{len(sitemap.urls) - len(other)} of its {len(sitemap.urls)} addresses are used"
            reason = f"{used}: others, such as {other[0]}, are no pages below {self._scope.start}"
            self._add(PageOutcome(sitemap.address, "skipped", reason))

    def _has_more(self) -> bool:
        """Read last: pages that may be linked from a page that failed."""
        if self._is_partial and not self._queue:
            self._enqueue_known()
        return bool(self._queue)

    def _enqueue_known(self) -> None:
        for url in self._known:
            self._enqueue(url)

    async def _get(self, url: str) -> Fetched:
        try:
            # Rules and sitemaps are needed even without a change.
            known = self._known if url == self._scope.start else {}
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
        url = self._scope.address(url)
        if url in self._queued or not self._scope.has(url):
            return
        self._queued.add(url)
        heappush(self._queue, (self._rank(url), len(self._queued), url))

    def _rank(self, url: str) -> int:
        """Lower comes first: new pages, if the last run had to leave some, then those that most
        runs have left, and then what was no page. A shop's filters, which have parameters, come
        after its products.
        """
        if url == self._scope.start:
            return -MAX_CUTS
        if self._was_cut and url in self._known:
            return -int(self._known[url].get(_LEFT, 0))
        if url in self._no_pages:
            return 1
        query = urlsplit(url).query
        return (query.count("&") + 1 if query else 0) - MAX_CUTS

    def _may(self, url: str) -> str:
        if not self._scope.has(self._scope.address(url)):
            return "leads to another site or folder"
        return self._robots.refusal(url) if self._robots else ""

    async def _visit(self, url: str) -> PageOutcome:
        try:
            if url == self._scope.start and self._first:
                found, self._first = self._first, None
            else:
                found = await self._fetcher.get(url, self._known, self._may)
            found = found._replace(url=self._scope.address(found.url))
            if found.url != url:
                self._leads.add((url, found.url))
                # The target may be in the queue as well. Whichever comes first is learnt.
                if found.url in self._queued and (found.url, url) not in self._leads:
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
        for name in ("links", TRANSLATIONS):
            for link in str(self._known[url].get(name, "")).split("\n"):
                self._enqueue(link)

    def _noted(self, url: str) -> dict[str, str | int]:
        notes = self._known.get(url, {}).items()
        return {name: value for name, value in notes if name not in {"gone", _CUT, _LEFT}}

    def _read(self, found: Fetched) -> PageOutcome:
        """Read one page. Raises Refused."""
        end = end_of(found)
        try:
            read, remark = self._reader.page(found.body, end, found.url, charset=found.charset)
        except Unreadable as error:
            raise Refused(str(error)) from None
        indexed = read.indexed and may_be_indexed(found.robots)
        links = read.links if may_be_followed(found.robots) else ()
        for link in (*links, *read.translations, read.refresh):
            # Lists that are not indexed lead to posts, and with parameters to lists without end.
            if indexed or "?" not in link:
                self._enqueue(link)
        if not indexed:
            raise Refused("asks not to be indexed (noindex)", "skipped")
        if read.refresh and (target := self._scope.address(read.refresh)) != found.url:
            return PageOutcome(found.url, "skipped", f"leads to {target}")
        canonical = self._scope.address(read.canonical) if read.canonical else found.url
        if not self._is_here(canonical, found.url) and self._scope.has(canonical):
            self._leads.add((found.url, canonical))
            self._enqueue(canonical)
            return PageOutcome(found.url, "skipped", f"is the same page as {canonical}")
        if end == ".html":
            check_text(read)
        translations = [self._scope.address(one) for one in read.translations]
        page, state = read.page, noted(read, found, translations)
        same = self._known.get(page.url, {}).get("digest") == state["digest"]
        return PageOutcome(page.url, "unchanged" if same else "learnt", remark, page, state)

    def _is_here(self, canonical: str, url: str) -> bool:
        """Whether a page is read at its canonical address, at one that this leads to, or at one
        with another slash at its end, if no link to the canonical was found.
        """
        if canonical.rstrip("/") == url.rstrip("/") and canonical not in self._queued:
            self._queued.add(canonical)
            return True
        return canonical == url or (canonical, url) in self._leads

    def _missed(self, url: str, error: Refused) -> PageOutcome:
        """The outcome for a known page that failed: its last text is used, unless it is gone."""
        known = self._known.get(url)
        if known is None or error.kind == "skipped":
            return PageOutcome(url, error.kind, str(error), status=error.status)
        gone = int(known.get("gone", 0)) + (error.status in {403, 404, 410})
        if gone > 1:
            return PageOutcome(url, "failed", f"{error}, for the second time: forgotten")
        self._follow(url)
        reason = f"{error}: its last text is kept"
        return PageOutcome(
            url, "kept", reason, state=self._noted(url) | ({"gone": gone} if gone else {})
        )

    def _add(self, outcome: PageOutcome) -> None:
        translations = self._translations.get(outcome.url)
        if translations and outcome.state and not outcome.state.get(TRANSLATIONS):
            outcome = outcome._replace(state={**outcome.state, TRANSLATIONS: translations})
        self._outcomes[outcome.url] = outcome
        self._note(outcome)


async def read_one(url: str, private_hosts: frozenset[str]) -> PageOutcome:
    """Read one page of a site; a busy server is not asked again. `private_hosts`: hosts that may be
    on this machine.
    """
    fetcher = await asyncio.to_thread(Fetcher, ROBOTS_AGENT, private=private_hosts, retries=0)
    try:
        return await Crawler(url, fetcher, ROBOTS_AGENT, {}, lambda _: None).one()
    finally:
        await fetcher.aclose()
