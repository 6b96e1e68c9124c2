"""A tool that fetches a page from a host on the user's allow list."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from kefu.agent.tools.workplace import Workplace
from kefu.errors import ToolFailed
from kefu.upstream.web_page import WebPage

MAX_PAGE_BYTES = 256 * 1024
"""Maximum bytes that are read from a page. The agent's loop cuts the result further."""

_PORTS = {"http": 80, "https": 443}


async def http_get(place: Workplace, url: str) -> str:
    """Fetch a page over http or https from one of the allowed hosts."""
    url = url.strip()
    _check(url, place.hosts)
    try:
        page = await place.fetch(url, MAX_PAGE_BYTES)
    except OSError as error:
        raise ToolFailed(f"{url}: {error}") from error
    if page.location:
        raise ToolFailed(f"{url} redirects to {page.location}, which is not followed")
    if page.status != 200:
        raise ToolFailed(f"{url} answered {page.status}")
    return _shown(page)


def _check(url: str, hosts: frozenset[str]) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS[parts.scheme]
    except (KeyError, ValueError):
        raise ToolFailed("only http:// and https:// addresses can be fetched") from None
    if parts.username is not None or parts.password is not None:
        raise ToolFailed("an address with a user's name in it is not fetched")
    if not _allowed(parts, port, hosts):
        allowed = ", ".join(sorted(hosts)) or "none; the user may allow some with --allow-host"
        raise ToolFailed(f"{parts.hostname or url!r} is not an allowed host. Allowed: {allowed}")


def _allowed(parts: SplitResult, port: int, hosts: frozenset[str]) -> bool:
    name = (parts.hostname or "").removesuffix(".")
    return bool(name) and (
        f"{name}:{port}" in hosts or (name in hosts and port == _PORTS[parts.scheme])
    )


def _shown(page: WebPage) -> str:
    if not (page.type.startswith("text/") or page.type.endswith(("json", "xml"))):
        return f"[{page.type or 'a body of no known type'}, which is not text]"
    text = page.body.decode("utf-8", "replace")
    return text if page.whole else f"{text}\n[only the first {MAX_PAGE_BYTES} bytes were read]"
