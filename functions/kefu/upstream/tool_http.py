"""Sends the requests of tools to the owner's services, at public or private addresses."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from kefu.tools.request import MAX_BODY, NoResponse, NotSent, ToolRequest, ToolResponse
from kefu.upstream.public_web import Address, may_have_pages
from kefu.upstream.transport import failure_of, new_client, request_errors

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

_CONNECTIONS = 100
"""The most at once to one service, for each of both kinds of methods."""

_PORTS = {"http": 80, "https": 443}


class AddressForbidden(OSError):
    """The name resolved to an address to which no tool may connect."""


class _Service(NamedTuple):
    """What requests have in common that share connections."""

    origin: str
    port: int
    keep: bool
    """Whether a connection is used again. Not for writes: the service may just have closed it, and
    then nobody knows whether the request arrived.
    """


class ToolHttp:
    """Implements `kefu.tools.request.Send`. Loads httpx at its first use."""

    def __init__(self, own_port: int = 0) -> None:
        """`own_port`: the one on which Kefu listens; no tool may connect to it on this machine."""
        self._own_port = own_port
        self._clients: dict[_Service, httpx.AsyncClient] = {}

    async def __call__(self, request: ToolRequest) -> ToolResponse:
        """Send a request without redirects, cookies and compression.

        The proxy that the environment names is used, except for this machine.
        """
        import aiohttp
        import httpx

        service, made = _prepared(request)
        try:
            response = await self._client(service).send(made, stream=True, follow_redirects=False)
            try:
                return await _read(response, request.is_answered)
            finally:
                await response.aclose()
        except (aiohttp.InvalidURL, httpx.InvalidURL, UnicodeError) as error:
            raise NotSent(f"the address is invalid ({type(error).__name__})") from error
        except request_errors() as error:
            failure = failure_of(error)
            if failure.sent:
                raise NoResponse(failure.name) from error
            raise NotSent(_reason(error)) from error

    def _client(self, service: _Service) -> httpx.AsyncClient:
        if service not in self._clients:

            def check(address: str) -> None:
                if not _is_allowed(ipaddress.ip_address(address), service.port, self._own_port):
                    # The same text for each address of a name, so that it is not lost among them.
                    raise AddressForbidden("forbidden address")

            self._clients[service] = new_client(
                proxy_for=service.origin,
                limit=_CONNECTIONS,
                keep=service.keep,
                resend=False,
                check_address=check,
            )
        return self._clients[service]

    async def aclose(self) -> None:
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()


def _prepared(request: ToolRequest) -> tuple[_Service, httpx.Request]:
    """Raises NotSent for a request that HTTP cannot express."""
    import httpx

    headers = {**request.headers, "Accept-Encoding": "identity"}
    if any(letter in value for value in headers.values() for letter in "\r\n\0"):
        raise NotSent("a header has a control character")
    try:
        parts = urlsplit(request.url)
        port = parts.port or _PORTS[parts.scheme]
        # `client.build_request` is not used, because it would add the header User-Agent.
        made = httpx.Request(request.method, request.url, headers=headers, content=request.body)
    except (ValueError, KeyError, httpx.InvalidURL) as error:
        raise NotSent(f"the request is invalid ({type(error).__name__})") from error
    keep = request.keep or request.method in ("GET", "HEAD")
    return _Service(f"{parts.scheme}://{parts.netloc}/", port, keep), made


async def _read(
    response: httpx.Response, is_answered: Callable[[ToolResponse], bool] | None
) -> ToolResponse:
    headers = {name.lower(): value for name, value in response.headers.items()}
    body = bytearray()

    def read() -> ToolResponse:
        is_whole = len(body) <= MAX_BODY
        return ToolResponse(response.status_code, headers, bytes(body[:MAX_BODY]), is_whole)

    async for part in response.aiter_raw():
        body += part
        if len(body) > MAX_BODY or (is_answered and is_answered(read())):
            break
    return read()


def _reason(error: Exception) -> str:
    if isinstance(getattr(error, "os_error", None), AddressForbidden):
        return "its address is forbidden to tools"
    if failure_of(error).certificate_rejected:
        return "its certificate was rejected"
    return f"no connection ({type(error).__name__})"


def _is_allowed(address: Address, port: int, own_port: int) -> bool:
    return may_have_pages(address) and not (port == own_port and _is_here(address))


def _is_here(address: Address) -> bool:
    """Whether the address is one of this machine, which are all that a socket can be bound to."""
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True
