"""Reads robots.txt and the sitemaps of a host."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urljoin

from kefu.knowledge.extract.files import Unreadable
from kefu.knowledge.learning import PageOutcome
from kefu.upstream.crawl.fetch import Fetched, Refused
from kefu.upstream.reader import PageReader

MAX_SITEMAPS = 50
"""Sitemaps that are read at most."""

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


async def read_sitemaps(
    start: str, robots: Robots, get: Get, reader: PageReader
) -> tuple[list[str], list[PageOutcome]]:
    """The addresses in the sitemaps, in order, and the sitemaps that cannot be read. A missing
    robots.txt is no error.
    """
    waiting = list(robots.sitemaps) or [urljoin(start, "/sitemap.xml")]
    seen, found, failed = set[str](), dict[str, None](), list[PageOutcome]()
    while waiting and len(seen) < MAX_SITEMAPS:
        address = waiting.pop(0)
        if address in seen:
            continue
        seen.add(address)
        try:
            is_index, addresses = reader.sitemap((await get(address)).body)
        except Refused as error:
            if error.status not in {404, 410}:
                failed.append(PageOutcome(address, "failed", str(error)))
            continue
        except Unreadable as error:
            failed.append(PageOutcome(address, "failed", str(error)))
            continue
        if is_index:
            waiting += addresses
        else:
            found |= dict.fromkeys(addresses)
    return list(found), failed
