"""GET requests for a model's tool: only to public addresses, and with a limit of size.

The address is checked for each socket, after the name was resolved. So every notation of an address
is covered, and a name that resolves to another address later has no effect.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Callable
from typing import TYPE_CHECKING

from kefu.upstream.transport import failure_of, new_client, request_errors
from kefu.upstream.web_page import WebPage

if TYPE_CHECKING:
    import httpx

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

TIMEOUT_SECONDS = 10.0
"""Seconds for the whole exchange."""

# The blocks of IANA's special-purpose registries (RFC 6890) that are not globally reachable. The
# table of Python's `ipaddress` differs between versions.
# https://www.iana.org/assignments/iana-ipv4-special-registry
_SPECIAL_V4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "168.63.129.16/32",  # not in the registry: the host of an Azure machine
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",
        ),
    )
)
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
# https://www.iana.org/assignments/iana-ipv6-special-registry, within global unicast.
_SPECIAL_V6 = tuple(
    map(
        ipaddress.IPv6Network,
        (
            "2001::/23",  # protocol assignments, such as Teredo, which contains an IPv4 address
            "2001:db8::/32",
            "2002::/16",  # 6to4, which contains an IPv4 address
            "3fff::/20",
        ),
    )
)


# Metadata services of clouds, which give a machine its keys. Networks without any web page.
_NEVER_V4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "100.100.100.200/32",  # Alibaba Cloud
            "168.63.129.16/32",  # Azure
            "169.254.0.0/16",  # link-local, with the metadata of AWS, Azure and Google Cloud
            "192.0.0.192/32",  # Oracle Cloud
            "224.0.0.0/4",  # multicast
        ),
    )
)
_NEVER_V6 = tuple(
    map(
        ipaddress.IPv6Network,
        (
            "fd00:ec2::/32",  # AWS
            "fe80::/10",  # link-local
            "ff00::/8",  # multicast
        ),
    )
)


class NotPublic(OSError):
    """The name resolved to an address that is not public."""


class NoPage(OSError):
    """The response is no page, is too large or came too slowly; the message has the reason."""


def is_public(address: Address) -> bool:
    """Whether the address belongs to the public Internet."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _SPECIAL_V4)
    if mapped := address.ipv4_mapped:
        return is_public(mapped)
    return address in _GLOBAL_UNICAST and not any(address in network for network in _SPECIAL_V6)


def may_have_pages(address: Address) -> bool:
    """Whether the address, public or private, is none of a cloud's metadata or of multicast."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _NEVER_V4)
    if mapped := address.ipv4_mapped:
        return may_have_pages(mapped)
    return not any(address in network for network in _NEVER_V6)


class PublicWeb:
    """A client without cookies, proxies and reused connections. Imports httpx on first use."""

    def __init__(self, may: Callable[[Address], bool] = is_public) -> None:
        self._may = may

    async def get(self, url: str, limit: int) -> WebPage:
        """Fetch a page. Raises NotPublic and NoPage."""
        import httpx

        refused: list[str] = []

        def check(address: str) -> None:
            if not self._may(ipaddress.ip_address(address)):
                refused.append(address)
                raise NotPublic(f"{address} is not a public address")

        headers = {"Accept": "text/*, application/json", "Accept-Encoding": "identity"}
        try:
            # `client.build_request` is not used, because it would add the header User-Agent.
            request = httpx.Request("GET", url, headers=headers)
            async with (
                asyncio.timeout(TIMEOUT_SECONDS),
                new_client(keep=False, check_address=check) as client,
            ):
                response = await client.send(request, stream=True, follow_redirects=False)
                try:
                    return await _page(response, limit)
                finally:
                    await response.aclose()
        except TimeoutError as error:
            raise NoPage(f"no whole answer within {TIMEOUT_SECONDS:.0f} s") from error
        except NoPage:
            raise
        except request_errors() as error:
            if refused:
                raise NotPublic(f"{refused[0]} is not a public address") from error
            raise NoPage(f"could not be fetched ({failure_of(error).name})") from error
        except ValueError as error:
            raise NoPage(f"could not be fetched ({type(error).__name__})") from error


async def _page(response: httpx.Response, limit: int) -> WebPage:
    location = response.headers.get("location", "") if 300 <= response.status_code < 400 else ""
    body = bytearray()
    if response.status_code == 200:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise NoPage("compressed, though that was not asked for")
        async for part in response.aiter_raw():
            body += part
            if len(body) > limit:
                break
    kind = response.headers.get("content-type", "application/octet-stream")
    return WebPage(
        response.status_code,
        kind.partition(";")[0].strip().lower(),
        bytes(body[:limit]),
        len(body) <= limit,
        location,
    )
