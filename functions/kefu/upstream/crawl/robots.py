"""Parses robots.txt (RFC 9309) and sitemaps (sitemaps.org)."""

from __future__ import annotations

import gzip
import html
import io
import re
from collections.abc import Awaitable, Callable
from urllib.parse import urljoin

from protego import Protego

from kefu.upstream.crawl.fetch import LARGEST, Fetched, Refused

SITEMAPS = 50
"""Sitemaps that are read at most."""

_LOCATION = re.compile(r"<loc>\s{0,99}(?:<!\[CDATA\[)?\s{0,99}([^<>\s\]]{1,2048})")

Get = Callable[[str], Awaitable[Fetched]]
"""Reads an address. Raises Refused."""


class Robots:
    def __init__(self, text: str, agent: str) -> None:
        self._rules = Protego.parse(text)
        self._agent = agent

    def allows(self, url: str) -> bool:
        return bool(self._rules.can_fetch(url, self._agent))

    @property
    def delay(self) -> float:
        """Seconds between two requests; 0 if robots.txt has no delay."""
        return float(self._rules.crawl_delay(self._agent) or 0)

    @property
    def sitemaps(self) -> list[str]:
        return list(self._rules.sitemaps)


async def read_robots(start: str, agent: str, get: Get) -> Robots:
    """Read the rules of a host. Raises Refused if they cannot be read, because nothing is allowed
    then.
    """
    try:
        text = (await get(urljoin(start, "/robots.txt"))).body.decode("utf-8", "replace")
    except Refused as error:
        if not 400 <= error.status < 500:
            raise Refused(f"robots.txt: {error}", error.kind) from None
        text = ""
    return Robots(text, agent)


async def read_sitemaps(start: str, robots: Robots, get: Get) -> list[str]:
    """The addresses in the sitemaps, in order. A sitemap that cannot be read is skipped."""
    waiting = robots.sitemaps or [urljoin(start, "/sitemap.xml")]
    seen, found = set[str](), dict[str, None]()
    while waiting and len(seen) < SITEMAPS:
        address = waiting.pop(0)
        if address in seen:
            continue
        seen.add(address)
        try:
            text = _text((await get(address)).body)
        except (Refused, OSError, EOFError):
            continue
        locations = [html.unescape(one) for one in _LOCATION.findall(text)]
        if "<sitemapindex" in text:
            waiting += locations
        else:
            found |= dict.fromkeys(locations)
    return list(found)


def _text(body: bytes) -> str:
    if body[:2] == b"\x1f\x8b":
        with gzip.GzipFile(fileobj=io.BytesIO(body)) as file:
            body = file.read(4 * LARGEST)
    return body.decode("utf-8", "replace")
