"""The HTTP client on real sockets: connections that are used again, and those that must not be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kefu.errors import ConnectionLost, HostUnreachable
from kefu.upstream.client import HttpResponse, HttpUpstream

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
DONE = b"e\r\ndata: [DONE]\n\n\r\n"
END = b"0\r\n\r\n"


class Server:
    """Counts connections; answers each request by `answer`, in order."""

    def __init__(self, *answers: list[bytes | float | None]) -> None:
        self.answers = list(answers)
        self.connections = 0
        self.requests = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                await reader.readexactly(2)
                self.requests += 1
                await self._answer(writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter) -> None:
        for step in self.answers.pop(0):
            if isinstance(step, float):
                await asyncio.sleep(step)
            elif step is None:
                writer.transport.abort()
            else:
                writer.write(step)
                await writer.drain()


@asynccontextmanager
async def talking_to(server: Server) -> AsyncIterator[HttpUpstream]:
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    upstream = HttpUpstream(f"http://127.0.0.1:{port}/v1")
    try:
        yield upstream
    finally:
        await upstream.aclose()
        listening.close()
        await listening.wait_closed()


async def until_done(response: HttpResponse) -> bytes:
    data = b""
    while b"[DONE]" not in data:
        data += await response.read(1)
    return data


async def a_whole_answer(upstream: HttpUpstream) -> None:
    response = await upstream.send(b"{}", "key")
    await until_done(response)
    response.finish()
    response.finish()


async def test_connection_is_used_again_when_the_end_follows_done_late() -> None:
    server = Server([HEAD, DONE, 0.1, END], [HEAD, DONE, END])
    async with talking_to(server) as upstream:
        await a_whole_answer(upstream)
        await asyncio.sleep(0.3)
        await a_whole_answer(upstream)
    assert (server.connections, server.requests) == (1, 2)


async def test_connection_whose_end_never_follows_is_closed() -> None:
    """U18: data behind `[DONE]` holds nothing up for long."""
    more = b"5\r\n: ...\r\n" * 10_000
    server = Server([HEAD, DONE, more, 5.0, END], [HEAD, DONE, END])
    async with talking_to(server) as upstream:
        await a_whole_answer(upstream)
        await asyncio.sleep(0.2)
        await a_whole_answer(upstream)
    assert server.connections == 2


async def test_connection_that_the_server_closed_meanwhile_is_replaced_without_a_fault() -> None:
    """L4."""
    server = Server([HEAD, DONE, END, 0.1, None], [HEAD, DONE, END])
    async with talking_to(server) as upstream:
        await a_whole_answer(upstream)
        await asyncio.sleep(0.3)
        await a_whole_answer(upstream)
    assert server.connections == 2


async def test_reset_before_an_answer_on_a_fresh_connection_is_not_asked_twice() -> None:
    server = Server([None], [None])
    async with talking_to(server) as upstream:
        with pytest.raises(HostUnreachable):
            await upstream.send(b"{}", "key")
    assert server.requests == 1


async def test_reset_inside_a_body_is_a_lost_connection() -> None:
    """U15."""
    server = Server([HEAD, b"5\r\n: hi\n\r\n", 0.1, None])
    async with talking_to(server) as upstream:
        response = await upstream.send(b"{}", "key")
        assert await response.read(1) == b": hi\n"
        with pytest.raises(ConnectionLost):
            await response.read(1)
        response.close()


async def test_reading_may_time_out_and_go_on_without_loss() -> None:
    server = Server([HEAD, 0.3, DONE, END])
    async with talking_to(server) as upstream:
        response = await upstream.send(b"{}", "key")
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await response.read(0.1)
        assert await until_done(response) == b"data: [DONE]\n\n"
        response.close()
