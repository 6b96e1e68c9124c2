"""The HTTP client on real sockets: which connections are reused, and which must not be."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kefu.errors import ConnectionLost, HostUnreachable
from kefu.upstream.client import HttpResponse, HttpUpstream

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
DONE = b"e\r\ndata: [DONE]\n\n\r\n"
END = b"0\r\n\r\n"


class Server:
    """A server that counts connections, and answers the requests by `answer` in order."""

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
async def talking_to(server: Server | Recorder) -> AsyncIterator[HttpUpstream]:
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
    """U18: the client waits only a moment for the end after `[DONE]`."""
    more = b"5\r\n: ...\r\n" * 10_000
    server = Server([HEAD, DONE, more, 5.0, END], [HEAD, DONE, END])
    async with talking_to(server) as upstream:
        await a_whole_answer(upstream)
        await asyncio.sleep(0.2)
        await a_whole_answer(upstream)
    assert server.connections == 2


async def test_connection_that_the_server_closed_meanwhile_is_replaced_without_a_fault() -> None:
    """Fault L4."""
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
    """Fault U15."""
    server = Server([HEAD, b"5\r\n: hi\n\r\n", 0.1, None])
    async with talking_to(server) as upstream:
        response = await upstream.send(b"{}", "key")
        assert await response.read(1) == b": hi\n"
        with pytest.raises(ConnectionLost):
            await response.read(1)
        await response.aclose()


async def test_reading_may_time_out_and_go_on_without_loss() -> None:
    server = Server([HEAD, 1.0, DONE, END])
    async with talking_to(server) as upstream:
        response = await upstream.send(b"{}", "key")
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await response.read(0.1)
        assert await until_done(response) == b"data: [DONE]\n\n"
        await response.aclose()


@pytest.mark.slow
async def test_each_read_has_its_own_time() -> None:
    """Reads of 1 s take 1.2 s together, and a short one after a long one ends in time."""
    hi = b"5\r\n: hi\n\r\n"
    server = Server([HEAD, 0.3, hi, 0.3, hi, 0.3, hi, 0.3, hi, 0.3, hi, 1.0, DONE, END])
    async with talking_to(server) as upstream:
        response = await upstream.send(b"{}", "key")
        for timeout in (30, 1, 1, 1, 1):
            assert await response.read(timeout) == b": hi\n"
        with pytest.raises(TimeoutError):
            await response.read(0.1)
        assert await until_done(response) == b"data: [DONE]\n\n"
        await response.aclose()


async def test_read_that_is_cancelled_when_its_time_is_over_is_cancelled() -> None:
    """The cancellation has another cause, so it is not turned into a TimeoutError."""
    loop = asyncio.get_running_loop()
    async with talking_to(Server([HEAD, 1.0])) as upstream:
        response = await upstream.send(b"{}", "key")
        reading = asyncio.create_task(response.read(0.1))
        await asyncio.sleep(0)
        loop.call_at(loop.time() + 0.05, time.sleep, 0.1)  # both are due in one round of the loop
        loop.call_at(loop.time() + 0.1, reading.cancel)
        with pytest.raises(asyncio.CancelledError):
            await reading
        await response.aclose()


def test_reads_of_one_response_share_a_timer_and_its_end_needs_no_task() -> None:
    class CountingLoop(asyncio.SelectorEventLoop):
        timers = 0

        def call_at(  # type: ignore[override]
            self, when: float, *args: Any, **more: Any
        ) -> asyncio.TimerHandle:
            self.timers += 1
            return super().call_at(when, *args, **more)

    async def reads(loop: CountingLoop) -> tuple[int, int]:
        paced: list[bytes | float | None] = [0.01, b"5\r\n: hi\n\r\n"] * 20
        async with talking_to(Server([HEAD, *paced, DONE, END])) as upstream:
            response = await upstream.send(b"{}", "key")
            before = loop.timers
            await until_done(response)
            timers, tasks = loop.timers - before - 20, len(asyncio.all_tasks())
            response.finish()
            return timers, len(asyncio.all_tasks()) - tasks

    with asyncio.Runner(loop_factory=CountingLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, CountingLoop)
        timers, tasks = runner.run(reads(loop))
    assert (timers <= 1, tasks) == (True, 0)


@pytest.mark.parametrize(("answer", "sent"), [([None], True), ([b"HTTP/9 what\r\n\r\n"], True)])
async def test_a_request_that_got_no_answer_counts_as_sent(
    answer: list[bytes | float | None], sent: bool
) -> None:
    """The upstream may have read it, and may bill it."""
    async with talking_to(Server(answer)) as upstream:
        with pytest.raises(HostUnreachable) as failed:
            await upstream.send(b"{}", "key")
    assert failed.value.request_sent is sent


async def test_a_request_without_a_connection_counts_as_not_sent() -> None:
    upstream = HttpUpstream("http://127.0.0.1:1/v1")
    with pytest.raises(HostUnreachable) as failed:
        await upstream.send(b"{}", "key")
    await upstream.aclose()
    assert not failed.value.request_sent


class Recorder:
    """A server that records the request's head, writes without end, and notices a disconnect."""

    def __init__(self, *, answers: bool = True) -> None:
        self.head = b""
        self.written = 0
        self.asked = asyncio.Event()
        self.left = asyncio.Event()
        self._answers = answers

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(2)
        self.asked.set()
        writing = asyncio.create_task(self._write(writer)) if self._answers else None
        try:
            await reader.read()
        except ConnectionError:
            pass
        finally:
            self.left.set()
            writer.close()
            if writing:
                await writing

    async def _write(self, writer: asyncio.StreamWriter) -> None:
        part = b"1000\r\n" + b"x" * 4096 + b"\r\n"
        try:
            writer.write(HEAD)
            while True:
                writer.write(part)
                await writer.drain()
                self.written += 4096
        except ConnectionError:
            pass


async def test_a_request_names_the_key_and_nothing_of_this_software() -> None:
    recorder = Recorder()
    async with talking_to(recorder) as upstream:
        response = await upstream.send(b"{}", "key")
        await response.aclose()
    line, *fields = recorder.head.decode().split("\r\n")[:-2]
    assert line == "POST /v1/chat/completions HTTP/1.1"
    headers = {name.lower(): value for name, _, value in (f.partition(": ") for f in fields)}
    assert headers.pop("host").startswith("127.0.0.1:")
    assert headers == {
        "accept": "text/event-stream",
        "accept-encoding": "identity",
        "authorization": "Bearer key",
        "content-length": "2",
        "content-type": "application/json",
    }


async def test_a_reader_that_pauses_holds_the_sender_back() -> None:
    """C4: it can write until the kernel's buffers are full, and must then wait."""
    recorder = Recorder()
    async with talking_to(recorder) as upstream:
        response = await upstream.send(b"{}", "key")
        before = -1
        while recorder.written != before:
            before = recorder.written
            await asyncio.sleep(0.3)
        assert before < 16_000_000
        await response.aclose()
        await recorder.left.wait()


@pytest.mark.parametrize("answers", [True, False])
async def test_a_response_that_is_closed_or_a_send_that_is_cancelled_frees_the_connection(
    answers: bool,
) -> None:
    recorder = Recorder(answers=answers)
    async with talking_to(recorder) as upstream:
        sending = asyncio.create_task(upstream.send(b"{}", "key"))
        await recorder.asked.wait()
        if answers:
            await (await sending).aclose()
        else:
            sending.cancel()
        async with asyncio.timeout(5):
            await recorder.left.wait()


async def test_aclose_that_is_cancelled_still_frees_the_connection() -> None:
    """C2: the caller may be cancelled again while it closes the response."""
    recorder = Recorder()
    async with talking_to(recorder) as upstream:
        response = await upstream.send(b"{}", "key")
        closing = asyncio.create_task(response.aclose())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        async with asyncio.timeout(5):
            await recorder.left.wait()


async def test_response_that_was_closed_reads_as_lost() -> None:
    async with talking_to(Recorder()) as upstream:
        response = await upstream.send(b"{}", "key")
        for _ in range(2):
            await response.aclose()
        with pytest.raises(ConnectionLost):
            await response.read(1)


async def test_closing_the_client_ends_a_read_that_waits() -> None:
    server = Server([HEAD, 30.0])
    async with talking_to(server) as upstream:
        response = await upstream.send(b"{}", "key")
        reading = asyncio.create_task(response.read(30))
        await asyncio.sleep(0.05)
        await upstream.aclose()
        with pytest.raises(ConnectionLost):
            await reading


async def test_client_that_is_closed_before_a_body_ends_leaves_nothing_open() -> None:
    """context m6: `kefu chat --once … | head -c 20` printed a traceback, and "Unclosed client
    session".
    """
    said: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
    async with talking_to(Server([HEAD, 0.3])) as upstream:
        response = await upstream.send(b"{}", "key")
        response.finish()
        await upstream.aclose()
    del response, upstream
    gc.collect()
    assert said == []


async def test_d8_own_headers_and_query_are_sent_with_each_request() -> None:
    """A header `authorization` takes the place of the key."""
    server = Recorder()
    async with talking_to(server) as upstream:
        upstream.use(query={"api-version": "1", "code": ""}, headers={"authorization": "Basic x"})
        with pytest.raises(HostUnreachable) as error:
            await upstream.send(b"{}", "key")
        assert error.value.request_sent is False
        upstream.use(query={"code": "a b/c+d"})
        await (await upstream.send(b"{}", "key")).aclose()
    head = server.head
    assert b"POST /v1/chat/completions?api-version=1&code=a+b/c%2Bd HTTP" in head
    assert head.lower().count(b"authorization:") == 1
    assert b"Basic x" in head
