"""T4, T31, T34: no request prevents the process from answering others."""

from __future__ import annotations

import itertools
import json

import pytest

from tests.fakes.asking import client, get
from tests.fakes.fixtures import Staged
from tests.fakes.raw_client import RawClient, request
from tests.fakes.stage import Stage
from tests.parts.plugin import slow

BODY = 64 * 1024
ALPHABET = b'"\\[]{}:, \n\ta0-.eEu/<\xff'
FRAGMENTS = [bytes(pair) for pair in itertools.product(ALPHABET, repeat=2)]

MOST_CPU = 0.25
"""Processor seconds that one request may take: fifty times what 64 KiB of plain text take, and a
fortieth of what the worst of these bodies took before their strings were matched in linear time."""


def heavy(fragment: bytes) -> bytes:
    """A body with more nested brackets than allowed, so that brackets inside strings must be
    recognised.
    """
    return (b"[" * 33 + fragment * BODY)[:BODY]


async def post_routes(running: Stage) -> list[str]:
    paths = (await get(running.url, "/openapi.json")).json()["paths"]
    return [path for path, methods in paths.items() if "post" in methods]


@pytest.mark.slow
@pytest.mark.parametrize("is_all", [False, slow(True)])
async def test_t31_no_body_of_64_kib_takes_a_quarter_of_a_second_of_cpu(
    staged: Staged, is_all: bool
) -> None:
    """With each fragment of two characters, repeated after 33 brackets. All routes read bodies by
    the same function, so each route and each fragment come at least once; in CI all pairs.
    """
    running = staged(1)
    routes = await post_routes(running)
    assert {"/api/chat", "/api/chat/cancel", "/v1/chat/completions"} <= set(routes)
    some = zip(itertools.cycle(routes), FRAGMENTS, strict=False)
    async with client() as visitor:
        for path, fragment in itertools.product(routes, FRAGMENTS) if is_all else some:
            before = running.service.cpu
            response = await visitor.post(
                running.url + path,
                content=heavy(fragment),
                headers={"Content-Type": "application/json"},
            )
            spent = running.service.cpu - before
            assert response.status_code == 400, (path, fragment)
            assert spent < MOST_CPU, f"{path} with {fragment!r}: {spent:.2f} s of CPU"
    assert (await get(running.url, "/health")).status_code == 200


LARGE = 8 * 1024 * 1024
BEGINNING = b"GET /health HTTP/1.1\r\nHost: x\r\n"
ENDLESS = {
    "one header": (BEGINNING + b"X: ", b"a"),
    "one name": (BEGINNING, b"a"),
    "many headers": (BEGINNING, b"a:\r\n"),
    "request line": (b"GET /", b"a"),
    "empty lines": (b"", b"\r\n"),
}


async def overrun(visitor: RawClient, start: bytes, unit: bytes) -> None:
    """Send 8 MiB, or less if the server closes the connection earlier."""
    block = unit * (256 * 1024 // len(unit))
    try:
        await visitor.send(start)
        for _ in range(LARGE // len(block)):
            await visitor.send(block)
    except ConnectionError:
        """The server has closed the connection; the test reads its response."""


@pytest.mark.parametrize("kind", ENDLESS)
async def test_t34_endless_headers_are_answered_431_and_the_connection_is_closed(
    shared: Stage, kind: str
) -> None:
    before = shared.service.cpu
    async with await RawClient.connect(shared.url) as visitor:
        await overrun(visitor, *ENDLESS[kind])
        response = await visitor.response()
        assert response.status == 431
        assert response.headers["connection"] == "close"
        assert response.json["error"]["code"] == "headers_too_large"
        assert await visitor.closed(timeout=20)
    assert shared.service.cpu - before < MOST_CPU
    assert "headers over" in shared.service.stderr


async def test_t34_endless_trailers_end_the_connection(shared: Stage) -> None:
    headers = {"Transfer-Encoding": "chunked"}
    start = request(body=b"", headers=headers) + b"2\r\n{}\r\n0\r\n"
    before = shared.service.cpu
    async with await RawClient.connect(shared.url) as visitor:
        await overrun(visitor, start + b"X: ", b"a")
        assert await visitor.closed(timeout=20)
    assert shared.service.cpu - before < MOST_CPU


async def test_t34_headers_of_40_kib_and_100_names_are_accepted(shared: Stage) -> None:
    long = {"X-Long": "a" * 40_000, **{f"X-{number}": "b" for number in range(100)}}
    async with await RawClient.connect(shared.url) as visitor:
        await visitor.send(request("/health", method="GET", headers=long))
        assert (await visitor.response()).status == 200


async def test_t34_long_bodies_do_not_count_as_headers_of_the_next_request(shared: Stage) -> None:
    """Three requests in one write, so that request headers begin in the middle of a read."""
    body = json.dumps({"messages": [], "pad": "x" * 60_000}).encode()
    async with await RawClient.connect(shared.url) as visitor:
        await visitor.send(request(body=body) * 3)
        await visitor.until(b"HTTP/1.1 400", 5)
        while visitor.received.count(b"HTTP/1.1 400") < 3:
            assert await visitor.read(5), "closed before three answers"
    assert b"HTTP/1.1 431" not in visitor.received
