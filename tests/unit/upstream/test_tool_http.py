"""A7, A10, A13: how tools' requests are sent, and which of the failed ones may have arrived."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kefu.tools.mcp import McpCall, McpClient
from kefu.tools.request import MAX_BODY, NoResponse, NotSent, ToolRequest
from kefu.upstream.tool_http import ToolHttp
from tests.fakes.certificate import self_signed
from tests.fakes.tool_shop import Fault, ToolShop, reset
from tests.fakes.waits import waited

Behaviour = Callable[[socket.socket], object]


@pytest.fixture
def shop() -> Iterator[ToolShop]:
    with ToolShop() as running:
        yield running


@pytest.fixture
async def send() -> AsyncIterator[ToolHttp]:
    sender = ToolHttp()
    yield sender
    await sender.aclose()


def order(shop: ToolShop, method: str = "GET") -> ToolRequest:
    return ToolRequest(method, f"{shop.url}/orders/5", {"Authorization": "canary"})


def cancel(shop: ToolShop) -> ToolRequest:
    return ToolRequest("POST", f"{shop.url}/orders/5/cancel", {}, b"{}")


@asynccontextmanager
async def peer(behave: Behaviour) -> AsyncIterator[str]:
    """A server that does one thing with its only connection. Returns its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                behave(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        await asyncio.to_thread(thread.join, 10)
        assert not thread.is_alive(), "the client has not ended the connection"


def after_request(last: bytes = b"", end: Behaviour = bool) -> Behaviour:
    """Reads a request, sends something and ends the connection."""

    def behave(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(last)
        end(connection)

    return behave


async def test_a1_a_stream_of_events_that_stays_open_ends_with_the_response(
    send: ToolHttp,
) -> None:
    """MCP's servers should close it, but need not: the call would end with its time, unsure."""
    progress = b'data: {"method": "notifications/progress", "params": {"error": 0}}\r\n\r\n'
    result = b'data: {"id": 2, "result": {"content": []}}\r\n\r\n'

    def behave(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream\r\n\r\n")
        for part in (progress, result[:9], result[9:] + b": ping\r\n\r\n"):
            connection.sendall(part)
            time.sleep(0.05)
        connection.recv(1)  # until the client ends the connection

    async def headers() -> Mapping[str, str]:
        return {}

    async with peer(behave) as address:
        mcp = McpClient(f"http://{address}/mcp", headers, send, asyncio.create_task)
        answered = await asyncio.wait_for(mcp.call("list", {}, McpCall()), 8)
    assert answered == {"content": []}


async def test_a1_a_response_is_read_whole_with_its_headers(shop: ToolShop, send: ToolHttp) -> None:
    response = await send(order(shop))
    assert (response.status, response.is_whole) == (200, True)
    assert response.headers["content-type"] == "application/json"
    assert b'"customer": "ada"' in response.body
    seen = shop.requests[0].headers
    assert seen["authorization"] == "canary"
    assert seen["accept-encoding"] == "identity"
    assert not {"user-agent", "cookie", "content-type"} & seen.keys()


async def test_a1_a_head_request_and_one_without_a_body_are_as_http_wants(
    shop: ToolShop, send: ToolHttp
) -> None:
    assert (await send(order(shop, "HEAD"))).body == b""
    await send(cancel(shop)._replace(body=b""))
    assert shop.requests[1].headers["content-length"] == "0"
    assert "content-type" not in shop.requests[1].headers


async def test_a20_a_read_uses_a_connection_again_and_a_write_has_its_own(
    shop: ToolShop, send: ToolHttp
) -> None:
    for request in (order(shop), order(shop), order(shop), cancel(shop), cancel(shop)):
        await send(request)
    assert shop.opened == 3
    closing = [one.headers.get("connection") == "close" for one in shop.requests]
    assert closing == [False, False, False, True, True]


async def test_a10_a_kept_connection_that_has_ended_loses_no_write(
    shop: ToolShop, send: ToolHttp
) -> None:
    await send(order(shop))
    shop.kill()
    shop.revive()
    assert (await send(cancel(shop))).status == 200
    assert shop.cancelled["5"] == 1


# Which requests may have arrived


async def test_a10_a_refused_connection_and_an_unknown_host_are_not_sent(
    shop: ToolShop, send: ToolHttp
) -> None:
    shop.kill()
    for request in (cancel(shop), ToolRequest("POST", "http://shop.invalid/", {"A": "canary"})):
        with pytest.raises(NotSent, match="no connection") as caught:
            await send(request)
        assert "shop.invalid" not in str(caught.value)
    shop.revive()


@pytest.mark.parametrize("name", ["IP:127.0.0.1", "DNS:elsewhere.example"])
async def test_a10_a_bad_certificate_gets_no_request(
    send: ToolHttp, tmp_path: Path, name: str
) -> None:
    with ToolShop(self_signed(tmp_path, name)) as shop:
        with pytest.raises(NotSent, match="certificate"):
            await send(cancel(shop))
        assert shop.requests == []


async def test_a10_a_handshake_that_breaks_is_not_sent(send: ToolHttp) -> None:
    for behave in (reset, bool, after_request(b"HTTP/1.1 400 Bad Request\r\n\r\n")):
        async with peer(behave) as address:
            with pytest.raises(NotSent):
                await send(ToolRequest("POST", f"https://{address}/", {}, b"{}"))


@pytest.mark.parametrize(
    "request_",
    [
        ToolRequest("GET", "http://127.0.0.1:1/", {"A": "b\r\nHost: evil"}),
        ToolRequest("GET", "http://127.0.0.1:1/", {"A": "\ud800"}),
        ToolRequest("GET", "http://127.0.0.1:99999/", {}),
        ToolRequest("GET", "ftp://127.0.0.1/", {}),
        ToolRequest("GET", "http://[", {}),
        ToolRequest("GET", f"http://{'a' * 64}.example/", {}),
        ToolRequest("GET", "http:///orders", {}),
    ],
)
async def test_a10_a_request_that_cannot_be_written_is_not_sent(
    send: ToolHttp, request_: ToolRequest
) -> None:
    with pytest.raises(NotSent):
        await send(request_)


OK = b"HTTP/1.1 200 OK\r\n"
LOST: dict[str, Behaviour] = {
    "reset": after_request(end=reset),
    "closed": after_request(),
    "no HTTP": after_request(b"hello\r\n\r\n"),
    "half a head": after_request(OK + b"Content-"),
    "half a body": after_request(OK + b"Content-Length: 9\r\n\r\nhalf"),
    "half a body, reset": after_request(OK + b"Content-Length: 9\r\n\r\nhalf", reset),
    "half a chunk": after_request(OK + b"Transfer-Encoding: chunked\r\n\r\n9\r\nhalf"),
    "a long header": after_request(OK + b"A: " + b"a" * 100_000 + b"\r\n\r\n"),
}


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
@pytest.mark.parametrize("how", LOST)
async def test_a10_a_lost_response_leaves_open_whether_the_request_arrived(
    send: ToolHttp, how: str, method: str
) -> None:
    """The peer accepts one connection, so a request that is sent twice would wait for ever."""
    async with peer(LOST[how]) as address:
        with pytest.raises(NoResponse):
            async with asyncio.timeout(5):
                await send(ToolRequest(method, f"http://{address}/", {}, b"{}"))


@pytest.mark.parametrize("end", [reset, bool])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
async def test_a10_a_connection_that_ends_before_the_request_is_no_response_or_none_was_sent(
    send: ToolHttp, end: Behaviour, method: str
) -> None:
    """Which of both depends on how far the request was: never more is claimed than is known."""
    async with peer(end) as address:
        with pytest.raises((NoResponse, NotSent)):
            async with asyncio.timeout(5):
                await send(ToolRequest(method, f"http://{address}/", {}, b"{}"))


@pytest.mark.parametrize("fault", ["silent", "drip"])
async def test_a7_a_call_that_takes_too_long_ends_with_its_connection(
    shop: ToolShop, send: ToolHttp, fault: Fault
) -> None:
    shop.fail(fault)

    async def until_late() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.15):
                await send(cancel(shop))

    assert await waited(until_late()) < 1
    assert shop.cancelled["5"] == 1
    # The connection is not kept for another request: its response would be this one's.
    assert (await send(order(shop))).status == 200


async def test_a20_a_slow_call_holds_no_other(shop: ToolShop, send: ToolHttp) -> None:
    shop.fail("silent")
    slow = asyncio.create_task(send(order(shop)))
    await asyncio.to_thread(shop.wait_for, 1)
    responses = await asyncio.gather(*[send(order(shop)) for _ in range(60)])
    assert {one.status for one in responses} == {200}
    assert not slow.done()
    slow.cancel()


# What is read


@pytest.mark.parametrize(
    ("size", "whole"), [(MAX_BODY, True), (MAX_BODY + 1, False), (2 * MAX_BODY, False)]
)
async def test_a13_a_response_is_cut_off_at_1_mb(send: ToolHttp, size: int, whole: bool) -> None:
    def long(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        try:
            connection.sendall(b"x" * size)
        except OSError:
            """The client has seen enough."""

    async with peer(long) as address:
        response = await send(ToolRequest("POST", f"http://{address}/", {}, b"{}"))
    assert (len(response.body), response.is_whole) == (MAX_BODY, whole)


async def test_a13_an_endless_response_is_cut_off(send: ToolHttp) -> None:
    def endless(connection: socket.socket) -> None:
        connection.recv(4096)
        try:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                connection.sendall(b"x" * 65536)
        except OSError:
            """The client has seen enough."""

    async with peer(endless) as address:
        assert not (await send(ToolRequest("GET", f"http://{address}/", {}))).is_whole


async def test_a13_a_bomb_stays_compressed(shop: ToolShop, send: ToolHttp) -> None:
    shop.fail("bomb")
    response = await send(order(shop))
    assert response.headers["content-encoding"] == "gzip"
    assert len(response.body) < MAX_BODY / 10


async def test_a13_a_redirect_is_a_response_and_is_not_followed(
    shop: ToolShop, send: ToolHttp
) -> None:
    shop.fail("redirect")
    response = await send(order(shop))
    assert (response.status, len(shop.requests)) == (302, 1)


async def test_a13_cookies_are_not_kept(send: ToolHttp) -> None:
    def cookie(connection: socket.socket) -> None:
        seen.append(connection.recv(4096))
        connection.sendall(
            b"HTTP/1.1 200 OK\r\nSet-Cookie: a=canary; Path=/\r\nContent-Length: 0\r\n\r\n"
        )
        seen.append(connection.recv(4096))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    seen = list[bytes]()
    async with peer(cookie) as address:
        for _ in range(2):
            await send(ToolRequest("GET", f"http://{address}/", {}))
    assert len(seen) == 2
    assert b"canary" not in seen[1]


# Where tools may connect to


@pytest.mark.parametrize(
    "host",
    [
        *("169.254.169.254", "[::ffff:169.254.169.254]", "[fd00:ec2::254]", "100.100.100.200"),
        *("2852039166", "0xa9fea9fe", "169.254.170.2", "168.63.129.16", "[fe80::1]"),
    ],
)
async def test_a13_metadata_addresses_are_refused_in_every_notation(
    send: ToolHttp, host: str
) -> None:
    with pytest.raises(NotSent, match=r"forbidden|invalid"):
        async with asyncio.timeout(5):
            await send(ToolRequest("GET", f"http://{host}/latest/meta-data/", {}))


def own_addresses() -> list[str]:
    """Addresses of this machine, with the one that it uses towards others."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
            outer = [probe.getsockname()[0]]
        except OSError:
            outer = []
    return ["127.0.0.1", "127.9.9.9", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "[::1]", *outer]


async def test_a13_kefus_own_port_is_refused_on_this_machine_alone(shop: ToolShop) -> None:
    send = ToolHttp(own_port=shop.port)
    for host in own_addresses():
        with pytest.raises(NotSent, match="forbidden"):
            await send(ToolRequest("GET", f"http://{host}:{shop.port}/orders/5", {}))
    assert shop.requests == []
    with ToolShop() as other:
        assert (await send(order(other))).status == 200
    # Another machine may have a service at the same port: 192.0.2.0/24 belongs to nobody.
    with pytest.raises((NotSent, TimeoutError)) as caught:
        async with asyncio.timeout(0.2):
            await send(ToolRequest("GET", f"http://192.0.2.1:{shop.port}/", {}))
    assert "forbidden" not in str(caught.value)
    await send.aclose()


async def test_a13_the_proxy_of_the_environment_is_used_except_for_this_machine(
    shop: ToolShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", shop.url)
    monkeypatch.setenv("NO_PROXY", "")
    send = ToolHttp()
    await send(ToolRequest("GET", "http://shop.invalid/orders/5", {}))
    assert shop.requests[0].target == "http://shop.invalid/orders/5"
    with ToolShop() as other:
        assert (await send(order(other))).status == 200
        assert other.requests[0].target == "/orders/5"
    await send.aclose()


async def test_a19_httpx_is_loaded_with_the_first_request_and_closing_twice_is_fine(
    shop: ToolShop,
) -> None:
    send = ToolHttp()
    await send.aclose()
    await send(order(shop))
    await send.aclose()
    await send.aclose()
    gc.collect()  # warns of connections that were left open
    assert (await send(order(shop))).status == 200
    await send.aclose()
