"""The HTTP client for the model: `POST {base}/chat/completions`, connections kept alive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from kefu.errors import CertificateRejected, ConnectionLost, HostUnreachable
from kefu.upstream.transport import connection_reused, failure_of, new_client, request_errors

if TYPE_CHECKING:
    import aiohttp
    import httpx

_END_WITHIN = 0.5
"""Seconds in which the end of a body should follow `[DONE]`."""

_AFTER_DONE = 16 * 1024
"""Bytes that are read after `[DONE]` before the connection is given up."""


class HttpUpstream:
    """An `Upstream` at one base URL. Loads httpx with its first use, not with its import."""

    def __init__(
        self, base_url: str, path: str = "/chat/completions", method: str = "POST"
    ) -> None:
        self._url = base_url.rstrip("/") + path
        self._method = method
        self._client: httpx.AsyncClient | None = None
        self._open: set[HttpResponse] = set()

    async def warm(self) -> None:
        """Load httpx and the certificates off the event loop, before the first request."""
        client = await asyncio.to_thread(self._new_client)
        self._client = self._client or client

    def _new_client(self) -> httpx.AsyncClient:
        # No limit here: admission happens before, and a queue inside would look like silence.
        return new_client(proxy_for=self._url)

    async def send(
        self, body: bytes, secret: str, more: Mapping[str, str] = MappingProxyType({})
    ) -> HttpResponse:
        """`more` are further headers, in place of those with the same name."""
        try:
            return await self._post(body, secret, more)
        except HostUnreachable:
            if not connection_reused.get():
                raise
            # The server had closed an idle connection just then: not a fault, and not answered.
            return await self._post(body, secret, more)

    async def _post(self, content: bytes, secret: str, more: Mapping[str, str]) -> HttpResponse:
        import httpx

        from kefu.upstream.aiohttp_transport import BODY

        self._client = client = self._client or self._new_client()
        headers = {
            "Accept": "text/event-stream",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            **more,
        }
        if secret:
            headers["Authorization"] = f"Bearer {secret}"
        try:
            # Not built by the client, which would add a User-Agent of its own.
            request = httpx.Request(self._method, self._url, headers=headers, content=content)
            response = await client.send(request, stream=True, follow_redirects=False)
        except request_errors() as error:
            failure = failure_of(error)
            if failure.certificate_rejected:
                raise CertificateRejected(failure.name) from error
            raise HostUnreachable(failure.name, request_sent=failure.sent) from error
        body = response.extensions[BODY]
        self._open.add(opened := HttpResponse(response, body, self._open.discard))
        return opened

    async def aclose(self) -> None:
        """Close all connections; another request would open new ones."""
        client, self._client = self._client, None
        closing = [response.aclose() for response in self._open]
        try:
            # An interrupt may have cancelled one of them; the client closes its connection, too.
            await asyncio.gather(*closing, return_exceptions=True)
        finally:
            if client:
                await client.aclose()


class HttpResponse:
    """An `UpstreamResponse`. One reader at a time."""

    def __init__(
        self,
        response: httpx.Response,
        body: aiohttp.StreamReader,
        on_closed: Callable[[HttpResponse], None],
    ) -> None:
        """`body` is that of `response`; it can be read again after a time limit."""
        self.status = response.status_code
        self.headers: Mapping[str, str] = dict(response.headers.multi_items())
        self._response = response
        self._body = body
        self._on_closed = on_closed
        self._ending: asyncio.Task[None] | None = None

    async def read(self, timeout: float) -> bytes:
        try:
            if data := self._body.read_nowait():
                return data
            async with asyncio.timeout(timeout):
                return await self._body.readany()
        except TimeoutError:
            raise
        except request_errors() as error:
            raise ConnectionLost(failure_of(error).name) from error
        except RuntimeError as error:  # raised when the connection was closed before the read
            raise ConnectionLost("closed") from error

    async def aclose(self) -> None:
        # A task, because it must reach its end also when the caller is cancelled.
        self._ending = self._ending or asyncio.create_task(self._close())
        await asyncio.shield(self._ending)

    async def _close(self) -> None:
        await self._response.aclose()
        # It refers to the response. Without this, both would wait for the garbage collector.
        del self._response.stream
        self._on_closed(self)

    def finish(self) -> None:
        self._ending = self._ending or asyncio.create_task(self._read_off())

    async def _read_off(self) -> None:
        """Wait a moment for the end of the body, behind which the connection can be used again."""
        left = _AFTER_DONE
        try:
            async with asyncio.timeout(_END_WITHIN):
                while left > 0 and (data := await self.read(_END_WITHIN)):
                    left -= len(data)
        except (TimeoutError, ConnectionLost):
            pass
        finally:
            await self._close()
