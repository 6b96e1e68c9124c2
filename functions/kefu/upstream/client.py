"""The HTTP client for the model: `POST {base}/chat/completions`, connections kept alive."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from weakref import WeakSet

from kefu.errors import CertificateRejected, ConnectionLost, HostUnreachable
from kefu.upstream.transport import connection_reused, failure_of, new_client, request_errors

if TYPE_CHECKING:
    import aiohttp
    import httpx

_END_WITHIN = 0.5
"""Seconds after `[DONE]` within which the body should end, so that its connection is used again."""


class HttpUpstream:
    """An `Upstream` at one base URL. The client loads httpx at its first use, not at the import."""

    def __init__(
        self, base_url: str, path: str = "/chat/completions", method: str = "POST"
    ) -> None:
        self._url = base_url.rstrip("/") + path
        self._query: dict[str, str] = {}
        self._headers: dict[str, str] = {}
        self._is_whole, self._has_key = True, False
        self._parsed: httpx.URL | None = None
        """With `_query`, parsed once: that takes a tenth of a short request's processor time."""
        self._method = method
        self._client: httpx.AsyncClient | None = None
        self._open = WeakSet[HttpResponse]()

    def use(
        self,
        *,
        query: Mapping[str, str] = MappingProxyType({}),
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Send these values with each request, beside those of earlier calls. They may be secrets.

        An empty value is not known yet: until it is, no request is sent.
        """
        self._query |= query
        self._headers |= headers
        self._has_key = "authorization" in map(str.lower, self._headers)
        self._is_whole = all((*self._query.values(), *self._headers.values()))
        self._parsed = None

    def _whole_url(self) -> str:
        return f"{self._url}?{urlencode(self._query)}" if self._query else self._url

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
        """`more` are further headers, in place of headers with the same name."""
        try:
            return await self._post(body, secret, more)
        except HostUnreachable:
            if not connection_reused.get():
                raise
            # The server had closed an idle connection just then: not a fault, and not answered.
            return await self._post(body, secret, more)

    async def _post(self, content: bytes, secret: str, more: Mapping[str, str]) -> HttpResponse:
        import httpx

        from kefu.upstream.aiohttp_transport import RESPONSE

        if not self._is_whole:
            raise HostUnreachable("a secret is not read yet", request_sent=False)
        self._client = client = self._client or self._new_client()
        headers = {
            "Accept": "text/event-stream",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            **self._headers,
            **more,
        }
        if secret and not self._has_key:
            headers["Authorization"] = f"Bearer {secret}"
        try:
            # Not built by the client, which would add a User-Agent of its own.
            self._parsed = url = self._parsed or httpx.URL(self._whole_url())
            request = httpx.Request(self._method, url, headers=headers, content=content)
            response = await client.send(request, stream=True, follow_redirects=False)
        except request_errors() as error:
            failure = failure_of(error)
            if failure.certificate_rejected:
                raise CertificateRejected(failure.name) from error
            raise HostUnreachable(failure.name, request_sent=failure.sent) from error
        # The error refers to the response: both would wait for the garbage collector.
        del response.stream
        self._open.add(opened := HttpResponse(response.extensions[RESPONSE]))
        return opened

    async def aclose(self) -> None:
        """Close all connections; another request would open new connections."""
        client, self._client = self._client, None
        for response in self._open:
            response.release()
        if client:
            await client.aclose()


class HttpResponse:
    """An `UpstreamResponse`. Only one reader at a time."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = {
            name.lower(): value for name, value in response.headers.items()
        }
        self._response = response
        self._body = response.content
        self._until = 0.0
        """Time of the event loop at which the running read ends."""
        self._timer: asyncio.TimerHandle | None = None
        """Ends the running read. A read that begins later moves only `_until`."""
        self._reader: asyncio.Task[object] | None = None
        self._timed_out = False

    async def read(self, timeout: float) -> bytes:
        # The rules of `asyncio.timeout`, but one timer for many reads.
        cancelling = 0
        try:
            if data := self._body.read_nowait():
                return data
            self._reader, self._timed_out = asyncio.current_task(), False
            assert self._reader
            cancelling = self._reader.cancelling()
            self._end_at(asyncio.get_running_loop().time() + timeout)
            return await self._body.readany()
        except asyncio.CancelledError:
            if self._reader and self._timed_out and self._reader.uncancel() <= cancelling:
                raise TimeoutError from None
            raise
        except request_errors() as error:
            raise ConnectionLost(failure_of(error).name) from error
        except RuntimeError as error:  # raised when the connection was closed before the read
            raise ConnectionLost("closed") from error
        finally:
            self._reader = None

    def _end_at(self, until: float) -> None:
        self._until = until
        if not self._timer or until < self._timer.when():
            self._stop_timer()
            self._timer = asyncio.get_running_loop().call_at(until, self._end_read)

    def _end_read(self) -> None:
        loop, self._timer = asyncio.get_running_loop(), None
        if self._reader and loop.time() < self._until:
            self._timer = loop.call_at(self._until, self._end_read)
        elif self._reader:
            self._timed_out = True
            self._reader.cancel()

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    async def aclose(self) -> None:
        self.release()
        await asyncio.sleep(0)  # the event loop closes the socket

    def finish(self) -> None:
        # Bytes after `[DONE]` are not read; aiohttp receives at most 32 KiB of them.
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(_END_WITHIN, self.release)
        self._body.on_eof(self.release)

    def release(self) -> None:
        """Close the connection, or free it for another request if the body has ended."""
        self._stop_timer()
        self._response.release()
