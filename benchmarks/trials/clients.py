"""Four ways to read an upstream's answer; each gives blocks of bytes as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import cache

import aiohttp
import httpx
from yarl import URL

HEADERS = {"content-type": "application/json", "authorization": "Bearer sk-bench"}
UNLIMITED = httpx.Limits(max_connections=None, max_keepalive_connections=None)
Blocks = Callable[[bytes], AsyncIterator[bytes]]


@cache
def session() -> aiohttp.ClientSession:
    """Made at the first request: it needs a running loop."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=2.5),
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=("user-agent",),
    )


class AiohttpStream(httpx.AsyncByteStream):
    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self.answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for block in self.answer.content.iter_any():
            yield block

    async def aclose(self) -> None:
        self.answer.close()


class AiohttpTransport(httpx.AsyncBaseTransport):
    """httpx's API on aiohttp's C parser and pool."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await session().request(
            request.method,
            URL(str(request.url), encoded=True),
            headers=request.headers.multi_items(),
            data=request.content,
            allow_redirects=False,
        )
        return httpx.Response(
            answer.status, headers=list(answer.headers.items()), stream=AiohttpStream(answer)
        )


def _httpx(client: httpx.AsyncClient, url: str) -> Blocks:
    async def blocks(body: bytes) -> AsyncIterator[bytes]:
        async with client.stream("POST", url, content=body, headers=HEADERS) as answer:
            async for block in answer.aiter_raw():
                yield block

    return blocks


def over_httpx(url: str) -> Blocks:
    return _httpx(httpx.AsyncClient(timeout=None, limits=UNLIMITED), url)


def over_httpx_on_aiohttp(url: str) -> Blocks:
    return _httpx(httpx.AsyncClient(timeout=None, transport=AiohttpTransport()), url)


def over_aiohttp(url: str) -> Blocks:
    target = URL(url)

    async def blocks(body: bytes) -> AsyncIterator[bytes]:
        async with session().post(target, data=body, headers=HEADERS) as answer:
            async for block in answer.content.iter_any():
                yield block

    return blocks


def over_httpx_transport(url: str) -> Blocks:
    transport = httpx.AsyncHTTPTransport(limits=UNLIMITED)

    async def blocks(body: bytes) -> AsyncIterator[bytes]:
        request = httpx.Request("POST", url, content=body, headers=HEADERS)
        answer = await transport.handle_async_request(request)
        try:
            assert isinstance(answer.stream, httpx.AsyncByteStream)
            async for block in answer.stream:
                yield block
        finally:
            await answer.aclose()

    return blocks


CLIENTS: dict[str, Callable[[str], Blocks]] = {
    "httpx": over_httpx,
    "httpx-on-aiohttp": over_httpx_on_aiohttp,
    "aiohttp": over_aiohttp,
    "httpx-transport": over_httpx_transport,
}
