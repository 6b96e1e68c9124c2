"""Which addresses belong to a crawl, and in which form."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

_NOT_TEXT = (
    ".7z .avi .css .gif .gz .ico .jpeg .jpg .js .json .mov .mp3 .mp4 .png .svg .tar .webp .woff"
    " .woff2 .xml .zip"
)
NO_PAGES = tuple(_NOT_TEXT.split())

_NO_CONTENT = re.compile(
    r"(?:utm_[a-z]+|fbclid|gclid|msclkid|mc_[ce]id|phpsessid|ref|sort|orderby)(?:=|$)",
    re.IGNORECASE,
)
"""Parameters that change the order of a page or count its visitors, and not its text."""

_SPHINX = re.compile("/_(?:sources|modules)/")
"""Sphinx's pages before they became HTML, and the code that they document."""

_SOURCE = re.compile(r"(?:\.mdx?|\.rst|\.txt)\Z")
"""The ends of the files from which pages are made."""


class Scope:
    """The addresses at or below a start address.

    `https://example.com/help` has `/help` and `/help/…`; `/help/` and `/help/index.html` have
    what is below `/help/`. If `asked` was redirected to a start below itself, such as `/`
    to `/wiki/Main_Page`, all addresses below `asked` belong to the crawl; but not if the start is
    on another host, which may have pages of others.
    """

    def __init__(self, start: str, asked: str = "") -> None:
        self.start = _rooted(start)
        self._parts = _split(self.start)
        before = _split(_rooted(asked))
        self._page, self._folder = _reach(before.path)
        if _host(before) != _host(self._parts) or not self._covers(self._parts.path):
            self._page, self._folder = _reach(self._parts.path)

    def address(self, url: str) -> str:
        """The address without its fragment and parameters that are repeated or of no meaning.

        A site answers with and without `www.`, at `http:` and `https:`; all of these become the
        start's.
        """
        url = _rooted(url.partition("#")[0])
        parts = _split(url)
        if not parts.netloc:
            return url
        if self.has_host(url) and parts.scheme in {"http", "https"}:
            parts = parts._replace(scheme=self._parts.scheme, netloc=self._parts.netloc)
        if parts.query:
            kept = (one for one in parts.query.split("&") if not _NO_CONTENT.match(one))
            parts = parts._replace(query="&".join(dict.fromkeys(kept)))
        return parts.geturl()

    def has_host(self, url: str) -> bool:
        """Whether the host of an address is the start's, with or without `www.`."""
        return _host(_split(url)) == _host(self._parts)

    def has(self, url: str) -> bool:
        """Whether an address, in the form of `address`, belongs to the crawl and may be a page."""
        parts = _split(url)
        path = parts.path or "/"
        return (
            parts.netloc != ""
            and (parts.scheme, parts.netloc) == (self._parts.scheme, self._parts.netloc)
            and self._covers(path)
            and not parts.path.lower().endswith(NO_PAGES)
            and not _SPHINX.search(path)
        )

    def _covers(self, path: str) -> bool:
        return path.startswith(self._folder) or path == self._page


def _reach(path: str) -> tuple[str, str]:
    """The page and the folder of a start's path; the page is empty if the path is a folder's."""
    above, _, name = path.rpartition("/")
    page = path if name and "." not in name else ""
    return page, f"{page or above}/"


def _host(parts: SplitResult) -> str:
    """The host without `www.`, with a port other than the scheme's."""
    host = parts.netloc.lower().removesuffix({"http": ":80", "https": ":443"}.get(parts.scheme, ""))
    return host.removeprefix("www.")


def _split(url: str) -> SplitResult:
    """The parts of an address. An address that cannot be read has none."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def made_from(url: str) -> tuple[str, ...]:
    """The addresses of the page that is made from the file at `url`, if it is the source of one."""
    stem = _SOURCE.sub("", url)
    if stem == url:
        return ()
    folder = (stem.removesuffix("index"),) if stem.endswith("/index") else ()
    return (stem, f"{stem}/", f"{stem}.html", *folder)


def without_user(url: str) -> str:
    """The address without a user and password."""
    parts = _split(url)
    host = parts.netloc.rpartition("@")[2]
    return url if host == parts.netloc else parts._replace(netloc=host).geturl()


def _rooted(url: str) -> str:
    """The address with a path, without a user: `https://www.example.com` is the page `/`."""
    url = without_user(url)
    parts = _split(url)
    return url if parts.path or not parts.netloc else parts._replace(path="/").geturl()
