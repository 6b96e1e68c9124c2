"""The transport below httpx: aiohttp's connections and parser, which are written in C.

The module imports both libraries, so other modules import it with the first request. The reasons
for a transport of our own are in docs/decisions/0005-http-client.md.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from io import BytesIO
from typing import Final

import aiohttp
import httpx

RESPONSE: Final = "kefu.response"
"""The response's extension with aiohttp's response. A read of httpx that is cancelled ends the
response; a read of aiohttp's `content` can be tried again.
"""

PIECE_BYTES: Final = 1 << 20
"""The longest body that aiohttp sends as a whole without a warning."""

_NO_LIMIT = aiohttp.ClientTimeout(total=None)


class AiohttpTransport(httpx.AsyncBaseTransport):
    """Raises the errors of aiohttp, and OSError."""

    def __init__(
        self, open_session: Callable[[], aiohttp.ClientSession], proxy: httpx.Proxy | None
    ) -> None:
        """`open_session` is called with the first request, because it needs the event loop."""
        self._open_session = open_session
        self._session: aiohttp.ClientSession | None = None
        self._proxy = str(proxy.url) if proxy else None
        self._proxy_auth = aiohttp.BasicAuth(*proxy.auth) if proxy and proxy.auth else None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self._session = session = self._session or self._open_session()
        sent = request.content or None
        response = await session.request(
            request.method,
            str(request.url),
            headers=request.headers.multi_items(),
            # In pieces, so that a request with images does not hold up other answers.
            data=BytesIO(sent) if sent and len(sent) > PIECE_BYTES else sent,
            allow_redirects=False,
            proxy=self._proxy,
            proxy_auth=self._proxy_auth,
            timeout=_NO_LIMIT,
        )
        return httpx.Response(
            response.status,
            headers=response.raw_headers,
            stream=_ResponseBody(response),
            request=request,
            extensions={"http_version": b"HTTP/1.1", RESPONSE: response},
        )

    async def aclose(self) -> None:
        if self._session:
            await self._session.close()


class _ResponseBody(httpx.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._response.content.iter_any()

    async def aclose(self) -> None:
        """Close the connection, unless the body was read to its end."""
        self._response.release()
        await self._response.wait_for_close()
