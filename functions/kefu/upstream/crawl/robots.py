"""Reads robots.txt and the sitemaps of a host."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urljoin

from kefu.knowledge.extract.files import Unreadable
from kefu.knowledge.learning import PageOutcome
from kefu.upstream.crawl.fetch import Fetched, Refused
from kefu.upstream.crawl.scope import Scope
from kefu.upstream.reader import PageReader

MAX_SITEMAPS = 50
"""Sitemaps that are read at most."""

LINKS = "/llms.txt"
"""A list of the site's pages in Markdown: https://llmstxt.org."""

Get = Callable[[str], Awaitable[Fetched]]
"""Reads an address. Raises Refused."""


class Robots:
    def __init__(self, body: bytes, agent: str, reader: PageReader) -> None:
        """Raises Unreadable."""
        self._body = body
        self._agent = agent
        self._reader = reader
        self.delay, self.sitemaps = reader.rules(body, agent)

    def refusal(self, url: str) -> str:
        """The reason why an address must not be read, or ""."""
        try:
            allowed = self._reader.allows(self._body, self._agent, url)
        except Unreadable as error:
            return f"robots.txt: {error}"
        return "" if allowed else "robots.txt does not allow it"


async def read_robots(start: str, agent: str, get: Get, reader: PageReader) -> Robots:
    """Read the rules of a host. Raises Refused if the rules cannot be read, because nothing is
    allowed then.
    """
    try:
        body = (await get(urljoin(start, "/robots.txt"))).body
    except Refused as error:
        if not 400 <= error.status < 500:
            raise Refused(f"robots.txt: {error}", error.kind) from None
        body = b""
    try:
        return Robots(body, agent, reader)
    except Unreadable as error:
        raise Refused(f"robots.txt: {error}") from None


class Sitemap(NamedTuple):
    address: str
    urls: Sequence[str]
    """The pages that the sitemap lists, as absolute addresses."""
    translations: Mapping[str, Sequence[str]]
    """The addresses of a page in all languages, by the page's address."""


async def read_sitemaps(
    scope: Scope, robots: Robots, get: Get, reader: PageReader
) -> tuple[list[Sitemap], list[PageOutcome]]:
    """The sitemaps and the llms.txt of a site, and the sitemaps that cannot be read. Missing ones
    are no error.
    """
    waiting = list(robots.sitemaps) or [urljoin(scope.start, "/sitemap.xml")]
    waiting.append(urljoin(scope.start, LINKS))
    seen, found, failed = set[str](), list[Sitemap](), list[PageOutcome]()
    while waiting and len(seen) < MAX_SITEMAPS:
        address = scope.address(waiting.pop(0))
        if address in seen:
            continue
        seen.add(address)
        try:
            is_index, entries = reader.sitemap((await get(address)).body)
        except Refused as error:
            is_optional = address.endswith(LINKS) and 400 <= error.status < 500
            if error.status not in {404, 410} and not is_optional:
                failed.append(PageOutcome(address, "failed", str(error)))
            continue
        except Unreadable as error:
            failed.append(PageOutcome(address, "failed", str(error)))
            continue
        if is_index:
            waiting += [one[0] for one in entries]
        else:
            pages = [[_joined(address, one) for one in entry] for entry in entries]
            translations = {page: others for page, *others in pages if others}
            found.append(Sitemap(address, [page for page, *_ in pages], translations))
    return found, failed


def _joined(base: str, link: str) -> str:
    try:
        return urljoin(base, link)
    except ValueError:  # such as an IPv6 address that is cut off
        return link
