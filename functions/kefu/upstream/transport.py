"""Makes the clients of httpx, on aiohttp's connections, and names the errors of their requests.

The reasons for this pair are in docs/decisions/0005-http-client.md. aiohttp and httpx are loaded
with the first use of this module's functions, not with its import.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import socket

    import aiohttp
    import httpx

_READ_BYTES = 16 * 1024
"""Bytes read at once; aiohttp pauses the sender at twice as many."""

_IDLE_SECONDS = 15.0
"""Seconds an unused connection is kept: shorter than servers' own limits, so few are stale."""

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")

connection_reused: ContextVar[bool] = ContextVar("connection_reused", default=False)
"""Whether this task's last request used a connection that was open already."""


class Failure(NamedTuple):
    """The reason why a request failed."""

    name: str
    """The name of the error's class, for logs."""
    certificate_rejected: bool
    sent: bool
    """Whether the server may have received the request."""


async def body_within(response: httpx.Response, most: int) -> bytes | None:
    """The body as it was sent; None if it has more than `most` bytes."""
    body = b""
    async for part in response.aiter_raw():
        body += part
        if len(body) > most:
            return None
    return body


def request_errors() -> tuple[type[Exception], ...]:
    """The errors of a request that failed, and of a body that broke off."""
    import aiohttp
    import httpx

    return httpx.HTTPError, httpx.InvalidURL, aiohttp.ClientError, OSError


def failure_of(error: Exception) -> Failure:
    """The reason for an error of `request_errors`."""
    import aiohttp

    return Failure(
        type(error).__name__,
        isinstance(error, ssl.SSLError | aiohttp.ClientSSLError),
        not isinstance(error, aiohttp.ClientConnectorError | aiohttp.ClientHttpProxyError),
    )


def new_client(
    *,
    proxy_for: str = "",
    limit: int = 0,
    keep: bool = True,
    resend: bool = True,
    check_address: Callable[[str], None] | None = None,
) -> httpx.AsyncClient:
    """A client without cookies, redirects, decompression and time limits of its own.

    `proxy_for` is a URL: the proxy that the environment names for it is used, or none. `limit` is
    the most connections at once, 0 for any number. `keep`: whether later requests use a connection
    again. `resend`: whether aiohttp sends a request once more if the connection ends before a
    response; it does so for GET, HEAD, PUT and DELETE. `check_address` is called with each IP
    address before a connection; it may raise OSError.
    """
    from http.cookiejar import CookieJar, DefaultCookiePolicy

    import aiohttp
    import httpx

    from kefu.upstream.aiohttp_transport import AiohttpTransport

    def open_session() -> aiohttp.ClientSession:
        trace = aiohttp.TraceConfig()
        trace.on_request_start.append(_note_start)
        trace.on_connection_reuseconn.append(_note_reuse)
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=limit,
                socket_factory=_checked_sockets(check_address) if check_address else None,
                force_close=not keep,
                keepalive_timeout=_IDLE_SECONDS if keep else None,
            ),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=_READ_BYTES,
            middlewares=() if resend else (_send_once,),
            skip_auto_headers=("User-Agent", "Content-Type"),
            trace_configs=[trace],
        )

    # The session verifies with the context that aiohttp makes when it is imported: with the
    # certificates of the system, or of SSL_CERT_FILE and SSL_CERT_DIR.
    transport = AiohttpTransport(open_session, _proxy(proxy_for))
    cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
    return httpx.AsyncClient(transport=transport, cookies=cookies, timeout=httpx.Timeout(None))


async def _send_once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    import aiohttp

    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        # These two errors are those after which aiohttp sends the request once more.
        raise aiohttp.ClientConnectionError(type(error).__name__) from error


def _checked_sockets(check: Callable[[str], None]) -> Callable[..., socket.socket]:
    import socket

    def new_socket(info: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, _, address = info
        check(str(address[0]).partition("%")[0])
        return socket.socket(family, kind, protocol)

    return new_socket


def _proxy(url: str) -> httpx.Proxy | None:
    """The HTTP proxy for `url` by HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.

    None for this machine, which a proxy cannot reach; SOCKS proxies are not supported.
    """
    from urllib.request import getproxies, proxy_bypass

    import httpx

    target = httpx.URL(url)
    if target.host in ("", *LOCAL_HOSTS) or proxy_bypass(target.netloc.decode("ascii")):
        return None
    proxies = getproxies()
    found = proxies.get(target.scheme) or proxies.get("all", "")
    if "://" not in found:
        found = found and f"http://{found}"
    return httpx.Proxy(found) if found.startswith(("http://", "https://")) else None


async def _note_start(*_: object) -> None:
    connection_reused.set(False)


async def _note_reuse(*_: object) -> None:
    connection_reused.set(True)
