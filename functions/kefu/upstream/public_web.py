"""GET for a model's tool: only what lies at a public address, and not much of it.

The address is looked at where a socket is made for it. What a name resolves to is thus checked for
every connection, and what was checked is what is connected to, however the name was written.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import aiohttp

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

TIMEOUT = 10.0
"""Seconds for the whole exchange."""

_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
# 6to4 and Teredo, which carry an IPv4 address in their bits.
_CARRIERS = (ipaddress.IPv6Network("2002::/16"), ipaddress.IPv6Network("2001::/32"))


class NotPublic(OSError):
    """A name led to an address that only this machine, or its network, can reach."""


class NoPage(OSError):
    """What came is not what was asked for, or came too slowly; the text says how."""


@dataclass(frozen=True, slots=True)
class WebPage:
    status: int
    type: str
    body: bytes
    whole: bool
    location: str = ""


def is_public(address: Address) -> bool:
    """Whether the address is one of the open Internet's, for everybody the same."""
    if isinstance(address, ipaddress.IPv6Address):
        if mapped := address.ipv4_mapped:
            return is_public(mapped)
        if address not in _GLOBAL_UNICAST or any(address in net for net in _CARRIERS):
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


class PublicWeb:
    """Loads aiohttp with its first use. Keeps no connection, no cookie, and uses no proxy."""

    def __init__(self, may: Callable[[Address], bool] = is_public) -> None:
        self._may = may

    async def get(self, url: str, limit: int) -> WebPage:
        """Raises NotPublic and NoPage."""
        import aiohttp

        refused: list[str] = []

        def socket_for(info: aiohttp.AddrInfoType) -> socket.socket:
            family, kind, protocol, _, where = info
            address = ipaddress.ip_address(str(where[0]).partition("%")[0])
            if not self._may(address):
                refused.append(str(address))
                raise NotPublic(f"{address} is not a public address")
            return socket.socket(family, kind, protocol)

        try:
            async with (
                asyncio.timeout(TIMEOUT),
                aiohttp.ClientSession(
                    connector=aiohttp.TCPConnector(socket_factory=socket_for, force_close=True),
                    cookie_jar=aiohttp.DummyCookieJar(),
                    auto_decompress=False,
                    headers={"Accept": "text/*, application/json", "Accept-Encoding": "identity"},
                    skip_auto_headers=("User-Agent",),
                ) as session,
                session.get(url, allow_redirects=False) as response,
            ):
                return await _page(response, limit)
        except TimeoutError as error:
            raise NoPage(f"no whole answer within {TIMEOUT:.0f} s") from error
        except NoPage:
            raise
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if refused:
                raise NotPublic(f"{refused[0]} is not a public address") from error
            raise NoPage(f"could not be fetched ({type(error).__name__})") from error


async def _page(response: aiohttp.ClientResponse, limit: int) -> WebPage:
    location = response.headers.get("Location", "") if 300 <= response.status < 400 else ""
    body = bytearray()
    if response.status == 200:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise NoPage("compressed, though that was not asked for")
        async for part in response.content.iter_chunked(16 * 1024):
            body += part
            if len(body) > limit:
                break
    return WebPage(
        response.status,
        response.content_type.lower(),
        bytes(body[:limit]),
        len(body) <= limit,
        location,
    )
