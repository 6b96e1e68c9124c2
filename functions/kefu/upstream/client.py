"""The one HTTP client: `POST {base}/chat/completions` over aiohttp, a pool of warm connections.

Why aiohttp and not httpx: docs/decisions/0005-http-client.md.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING

from kefu.errors import CertificateRejected, ConnectionLost, HostUnreachable

if TYPE_CHECKING:
    import aiohttp

_READ = 16 * 1024
"""Bytes read at once, and half of what is held for one stream before its sender is held back."""

_END_WITHIN = 0.5
"""Seconds in which the end of a body should follow `[DONE]`."""

_finishing: set[asyncio.Task[None]] = set()
"""Kept from the garbage collector."""

_IDLE = 15.0
"""Seconds an unused connection is kept: shorter than servers' own limits, so few are stale."""


class HttpUpstream:
    """An `Upstream` at one base URL. Loads aiohttp with its first use, not with its import."""

    def __init__(self, base_url: str, path: str = "/chat/completions") -> None:
        self._url = base_url.rstrip("/") + path
        self._session: aiohttp.ClientSession | None = None

    async def warm(self) -> None:
        """Load the HTTP library off the event loop, before the first request needs it."""
        await asyncio.to_thread(__import__, "aiohttp")
        self._open()

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        trace = aiohttp.TraceConfig()
        trace.on_connection_reuseconn.append(_note_reuse)
        self._session = aiohttp.ClientSession(
            # No limit here: admission happens before, and a queue inside would look like silence.
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Accept": "text/event-stream", "Accept-Encoding": "identity"},
            skip_auto_headers=("User-Agent",),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            read_bufsize=_READ,
            trace_configs=[trace],
        )
        return self._session

    async def send(self, body: bytes, secret: str) -> HttpResponse:
        connection = SimpleNamespace(reused=False)
        try:
            return await self._post(body, secret, connection)
        except HostUnreachable:
            if not connection.reused:
                raise
            # The server had closed an idle connection just then: not a fault, and not answered.
            return await self._post(body, secret, SimpleNamespace(reused=False))

    async def _post(self, body: bytes, secret: str, connection: SimpleNamespace) -> HttpResponse:
        import aiohttp

        session = self._session or self._open()
        headers = {"Content-Type": "application/json"}
        if secret:
            headers["Authorization"] = f"Bearer {secret}"
        try:
            response = await session.post(
                self._url,
                data=body,
                headers=headers,
                allow_redirects=False,
                trace_request_ctx=connection,
            )
        except (aiohttp.ClientSSLError, ssl.SSLError) as error:
            raise CertificateRejected(type(error).__name__) from error
        except (aiohttp.ClientError, OSError) as error:
            raise HostUnreachable(type(error).__name__) from error
        return HttpResponse(response)

    async def aclose(self) -> None:
        """Close all connections; another request would open new ones."""
        if self._session:
            session, self._session = self._session, None
            await session.close()


async def _note_reuse(_session: object, context: SimpleNamespace, _params: object) -> None:
    context.trace_request_ctx.reused = True


class HttpResponse:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self._finished = False
        self.status = response.status
        self.headers: Mapping[str, str] = {
            name.lower(): value for name, value in response.headers.items()
        }

    async def read(self, timeout: float) -> bytes:
        import aiohttp

        try:
            # Cancelling read() loses nothing: bytes stay in the reader's buffer.
            async with asyncio.timeout(timeout):
                return await self._response.content.read(_READ)
        except TimeoutError:
            raise
        except (aiohttp.ClientError, OSError) as error:
            raise ConnectionLost(type(error).__name__) from error

    def close(self) -> None:
        self._response.close()

    def finish(self) -> None:
        if not self._finished and not self._response.content.is_eof():
            self._finished = True
            task = asyncio.create_task(self._read_off())
            _finishing.add(task)
            task.add_done_callback(_finishing.discard)

    async def _read_off(self) -> None:
        """Wait a moment for the end of the body, behind which the connection can be used again."""
        left = _READ
        try:
            while left > 0 and (data := await self.read(_END_WITHIN)):
                left -= len(data)
        except (TimeoutError, ConnectionLost):
            pass
        except RuntimeError:  # aiohttp, when all connections are closed meanwhile
            pass
        finally:
            self._response.close()
