"""Parses robots.txt (RFC 9309) and sitemaps (sitemaps.org). Used only in the reader's process."""

from __future__ import annotations

import gzip
import html
import io
import re
from functools import lru_cache

from protego import Protego

LARGEST_ROBOTS = 500 << 10
"""Bytes that are read of a robots.txt: RFC 9309, section 2.5."""

LARGEST_SITEMAP = 50 << 20
"""Unpacked bytes that are read of a sitemap: the most that sitemaps.org allows."""

_LOCATION = re.compile(r"<loc>\s{0,99}(?:<!\[CDATA\[)?\s{0,99}([^<>\s\]]{1,2048})")

_TRANSLATION = re.compile(
    r"<(?:\w{1,20}:)?link\s(?=[^<>]{0,2048}\bhreflang\s{0,9}=)"
    r"[^<>]{0,2048}\bhref\s{0,9}=\s{0,9}[\"']\s{0,9}([^<>\s\"']{1,2048})"
)
"""https://developers.google.com/search/docs/specialty/international/localized-versions#sitemap"""

_LISTED = re.compile(r"^(https?://\S{1,2048})\s*$|\]\(\s{0,9}([^()\s]{1,2048})", re.MULTILINE)


@lru_cache(maxsize=1)
def _parsed(data: bytes) -> Protego:
    return Protego.parse(data[:LARGEST_ROBOTS].decode("utf-8-sig", "replace"))


def read_rules(data: bytes, agent: str) -> tuple[float, list[str]]:
    """The delay between two requests, and the sitemaps."""
    rules = _parsed(data)
    return float(rules.crawl_delay(agent) or 0), list(rules.sitemaps)


def allows(data: bytes, agent: str, url: str) -> bool:
    return bool(_parsed(data).can_fetch(url, agent))


def read_sitemap(data: bytes) -> tuple[bool, list[list[str]]]:
    """Whether the sitemap lists other sitemaps, and its entries: an address, then those of the page
    in all languages if the entry has `hreflang` links.

    A sitemap may also be a text with an address on each line, or with links of Markdown, as
    llms.txt has them.
    """
    if data[:2] == b"\x1f\x8b":
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            data = file.read(LARGEST_SITEMAP)
    text = data.decode("utf-8-sig", "replace")
    if not text.lstrip().startswith("<"):
        return False, [[one[0] or one[1]] for one in _LISTED.findall(text)]
    entries = list[list[str]]()
    for entry in text.split("</url>"):
        translations = _TRANSLATION.findall(entry) if "hreflang" in entry else []
        for location in _LOCATION.findall(entry):
            entries.append([html.unescape(one) for one in (location, *translations)])
    return "<sitemapindex" in text, entries
