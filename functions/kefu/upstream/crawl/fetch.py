"""GET for one page: only from an allowed address, with limits of size, time and redirects.

The host name is resolved here, and the request goes to the address that was checked. So a host name
that resolves to another address afterwards has no effect (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Literal, NamedTuple
from urllib.parse import urljoin, urlsplit

import httpx

from kefu.knowledge.learning import State
from kefu.upstream.crawl.scope import without_user
from kefu.upstream.public_web import Address, is_public, may_have_pages

MAX_PAGE_BYTES = 5 << 20
"""Bytes of a page."""

MAX_FILE_BYTES = 50 << 20
"""Bytes of a file that is no page: a sitemap (sitemaps.org), a feed of products, a PDF."""

FILE_TYPES = frozenset(
    {
        "application/gzip",
        "application/json",
        "application/jsonl",
        "application/pdf",
        "application/x-gzip",
        "application/x-ndjson",
        "application/xml",
        "text/csv",
        "text/xml",
    }
)

MAX_MEMBERS = 100
"""Parts of a compressed body: RFC 1952, section 2.2. Each takes a copy of the rest."""

RETRIES = 2
"""Requests after a server that asks to wait."""

RETRY_SECONDS = 5.0
"""Seconds to wait if the server does not say how long."""

LONGEST_RETRY = 60.0

TIMEOUT_SECONDS = 20.0
"""Seconds for a whole page."""

MAX_REDIRECTS = 5

_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)


class Refused(Exception):
    """The page was not read. The message is shown in the report."""

    def __init__(
        self,
        reason: str,
        kind: Literal["skipped", "failed"] = "failed",
        status: int = 0,
        retry_after: float = 0.0,
    ) -> None:
        """`retry_after`: the seconds after which another request may succeed; 0: none does."""
        super().__init__(reason)
        self.kind = kind
        self.status = status
        self.retry_after = retry_after


class Fetched(NamedTuple):
    url: str
    """After redirects."""
    type: str
    """The media type, in lower case."""
    charset: str
    """The encoding that the header names, or ""."""
    body: bytes
    """Empty for a page that did not change."""
    unchanged: bool
    etag: str
    modified: str
    robots: str = ""
    """The directives of X-Robots-Tag that apply to Kefu."""


def checked(url: str) -> httpx.URL:
    """The address, if its host and its port are valid. Raises Refused."""
    with suppress(httpx.InvalidURL, ValueError):  # `port` raises for 99999, which httpx takes
        if urlsplit(url).hostname and urlsplit(url).port != 0:
            return httpx.URL(url)
    raise Refused("not a valid address", "skipped")


class Fetcher:
    def __init__(
        self,
        agent: str,
        allowed: Callable[[Address], bool] = is_public,
        timeout: float = TIMEOUT_SECONDS,
        private: frozenset[str] = frozenset(),
        retries: int = RETRIES,
    ) -> None:
        """`private`: the hosts whose addresses are not checked."""
        self._allowed = allowed
        self._private = private
        self._timeout = timeout
        self._retries = retries
        self._client = httpx.AsyncClient(
            follow_redirects=False,
            timeout=timeout,
            # One link can set another currency or language, which all later pages would have.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            trust_env=False,  # a proxy would resolve the name itself
            verify=httpx.create_ssl_context(),  # by SSL_CERT_FILE and SSL_CERT_DIR
            headers={
                "User-Agent": agent,
                "Accept": "text/html, text/*, */*;q=0.1",
                "Accept-Encoding": "gzip",
            },
        )
        self._sign_ins: Mapping[tuple[str, bytes], httpx.Auth] = {}
        """By the scheme and host that they are sent to."""
        self.bodies = 0
        """Responses whose body was read."""
        self.is_local = False
        """Whether the last request went to this machine itself."""

    async def aclose(self) -> None:
        await self._client.aclose()

    def sign_in(self, start: str) -> str:
        """Send the user and password of an address to its host alone. Returns the address without
        these.
        """
        with suppress(Refused):
            url = checked(start)
            if url.userinfo:
                auth = httpx.BasicAuth(url.username, url.password)
                self._sign_ins = {(name, url.netloc): auth for name in (url.scheme, "https")}
        return without_user(start)

    async def get(
        self,
        url: str,
        known: Mapping[str, State],
        may: Callable[[str], str],
    ) -> Fetched:
        """Read a page, and follow its redirects.

        `known` has the `etag` and `modified` of the pages of the last run. `may` returns the
        reason why an address must not be read, or "". Raises Refused.
        """
        seen = set[str]()
        for _ in range(MAX_REDIRECTS + 1):
            url = without_user(url)
            if url in seen:
                raise Refused("redirects in a circle, as some sites do without cookies")
            seen.add(url)
            if reason := may(url):
                raise Refused(reason, "skipped")
            result = await self._patiently(url, known.get(url, {}))
            if isinstance(result, Fetched):
                return result
            url = result
        raise Refused(f"more than {MAX_REDIRECTS} redirects")

    async def _patiently(self, url: str, known: State) -> Fetched | str:
        for _ in range(self._retries):
            try:
                return await self._one(url, known)
            except Refused as error:
                if not error.retry_after:
                    raise
                await asyncio.sleep(min(error.retry_after, LONGEST_RETRY))
        return await self._one(url, known)

    async def _one(self, url: str, known: State) -> Fetched | str:
        try:
            async with asyncio.timeout(self._timeout):
                return await self._read(url, known)
        except TimeoutError:
            raise Refused(f"not complete within {self._timeout:g} s") from None
        except (httpx.HTTPError, OSError) as error:
            raise Refused(f"could not be fetched ({type(error).__name__})") from None

    async def _read(self, url: str, known: State) -> Fetched | str:
        target = checked(url)
        *others, last = await self._addresses(target)
        headers = {"Host": target.netloc.decode()}
        if etag := known.get("etag"):
            headers["If-None-Match"] = str(etag)
        if modified := known.get("modified"):
            headers["If-Modified-Since"] = str(modified)
        for address in others:  # such as ::1 of `localhost`, where the server has only 127.0.0.1
            with suppress(httpx.ConnectError):
                return await self._read_at(address, url, headers)
        return await self._read_at(last, url, headers)

    async def _read_at(
        self, address: Address, url: str, headers: Mapping[str, str]
    ) -> Fetched | str:
        target = checked(url)
        self.is_local = address.is_loopback
        async with self._client.stream(
            "GET",
            target.copy_with(host=str(address)),
            headers=headers,
            auth=self._sign_ins.get((target.scheme, target.netloc)),
            extensions={"sni_hostname": target.host},
        ) as response:
            status = response.status_code
            if status in {301, 302, 303, 307, 308} and "location" in response.headers:
                return _target(url, response.headers["location"])
            etag, modified = (_plain(response, name) for name in ("etag", "last-modified"))
            if status == 304:
                return Fetched(url, "", "", b"", unchanged=True, etag=etag, modified=modified)
            if status != 200:
                raise self._refusal(response)
            type, charset = _type(response.headers.get("content-type", ""))
            most = MAX_FILE_BYTES if type in FILE_TYPES else MAX_PAGE_BYTES
            body = await self._body(response, most)
            robots = _robots(response.headers.get_list("x-robots-tag"))
            return Fetched(
                url,
                type,
                charset,
                body,
                unchanged=False,
                etag=etag,
                modified=modified,
                robots=robots,
            )

    def _refusal(self, response: httpx.Response) -> Refused:
        status, reason = response.status_code, response.reason_phrase
        if status in {401, 407}:
            return Refused(f"asks for a sign-in ({status} {reason})", "skipped", status)
        if status == 403:
            agent = self._client.headers["User-Agent"]
            return Refused(f"refused (403): a firewall may block {agent}", "failed", status)
        wait = _seconds(response.headers.get("retry-after", ""))
        if status == 429:
            wait = wait or RETRY_SECONDS
        is_passing = status in {429, 503}
        return Refused(f"{status} {reason}".strip(), "failed", status, wait if is_passing else 0)

    async def _body(self, response: httpx.Response, most: int) -> bytes:
        """The body, unpacked. httpx would unpack a whole chunk before its size can be checked, once
        for each coding that the response names.
        """
        self.bodies += 1
        too_large = Refused(f"larger than {most >> 20} MB", "skipped")
        coding = response.headers.get("content-encoding", "").strip().lower()
        if coding not in {"", "identity", "gzip", "x-gzip"}:
            raise Refused(f"compressed as {coding}, which was not asked for")
        body = bytearray()
        async for part in response.aiter_raw():
            body += part
            if len(body) > most:
                raise too_large
        if not body or coding in {"", "identity"}:
            return bytes(body)
        unpacked = _unpacked(bytes(body), most + 1)
        if len(unpacked) > most:
            raise too_large
        return unpacked

    async def _addresses(self, url: httpx.URL) -> list[Address]:
        """The allowed addresses of the host, at least one. Raises Refused."""
        loop = asyncio.get_running_loop()
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            found = await loop.getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise Refused(f"the name {url.host} has no address") from None
        addresses = [ipaddress.ip_address(str(one[4][0]).partition("%")[0]) for one in found]
        is_private = url.host in self._private
        allowed = [
            one for one in addresses if (is_private and may_have_pages(one)) or self._allowed(one)
        ]
        if not allowed:
            reason = f"{addresses[0]} is not a public address (see --allow-private)"
            raise Refused(reason, "skipped")
        return allowed


def _unpacked(body: bytes, most: int) -> bytes:
    """The decompressed body, cut to this many bytes. Raises Refused for damaged bytes."""
    unpacked = b""
    for _ in range(MAX_MEMBERS):
        decoder = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            unpacked += decoder.decompress(body, most - len(unpacked))
        except zlib.error:
            raise Refused("its compression is damaged") from None
        if not decoder.eof and len(unpacked) < most:
            raise Refused("its compression is cut short")
        body = decoder.unused_data
        if len(unpacked) >= most or not body.startswith(b"\x1f\x8b"):
            return unpacked
    raise Refused(f"compressed in more than {MAX_MEMBERS} parts")


def _type(header: str) -> tuple[str, str]:
    """The media type and the charset of a Content-Type."""
    charset = _CHARSET.search(header)
    return header.partition(";")[0].strip().lower(), charset[1] if charset else ""


def _plain(response: httpx.Response, name: str) -> str:
    """A header that the next run sends back; "" if it is not ASCII, which cannot be sent."""
    value = response.headers.get(name, "")
    return value if value.isascii() else ""


def _target(url: str, location: str) -> str:
    """The address to which a response redirects. Raises Refused."""
    try:
        target = urljoin(url, location).partition("#")[0]
        checked(target)
    except (Refused, ValueError):
        raise Refused("leads to an address that is not valid") from None
    return target


def _seconds(retry_after: str) -> float:
    """The seconds of a header Retry-After; 0 without a valid one."""
    if retry_after.isdigit():
        return float(retry_after[:9])
    try:
        at = parsedate_to_datetime(retry_after)
        return max(0.0, (at - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return 0.0


def _robots(headers: Sequence[str]) -> str:
    """The directives for all crawlers and for Kefu, without those for crawlers of other names."""
    kept = list[str]()
    for header in headers:
        name, colon, directives = header.partition(":")
        if not colon or "," in name:
            kept.append(header)
        elif name.strip().lower() == "kefu":
            kept.append(directives)
    return ", ".join(kept)
