"""T4, T31: requests that are too long, too deep or too many are refused early."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.fakes.asking import conversation
from tests.fakes.growth import assert_linear_work
from tests.fakes.raw_client import RawClient, exchange, request
from tests.fakes.stage import FAST, ORIGIN, Stage, stage

MEBI = 1 << 20


async def test_t4_declared_ten_mebibytes_are_refused_unread(shared: Stage) -> None:
    head = request(length=10 * MEBI, headers={"Origin": ORIGIN})
    response = await exchange(shared.url, head)
    assert response.status in (400, 413)
    assert response.json["error"]["code"] == "invalid_request"
    assert response.headers["access-control-allow-origin"] == ORIGIN


async def test_t4_undeclared_ten_mebibytes_are_refused_after_their_limit(shared: Stage) -> None:
    chunked = {"Transfer-Encoding": "chunked", "Origin": ORIGIN}
    before = shared.service.memory
    async with await RawClient.connect(shared.url) as visitor:
        await visitor.send(request(headers=chunked))
        sent = 0
        try:
            while sent < 10 * MEBI:
                await asyncio.wait_for(visitor.send(b"10000\r\n" + b" " * 65536 + b"\r\n"), 5)
                sent += 65536
        except (ConnectionError, TimeoutError):
            pass
        assert await visitor.until(b"\r\n\r\n")
    assert visitor.received.startswith((b"HTTP/1.1 400", b"HTTP/1.1 413"))
    assert shared.service.memory - before < 8 * MEBI


@pytest.mark.parametrize("length", ["1e3", "0x10", "+5", "99999999999999999999", "five"])
async def test_t4_odd_content_length_is_no_500(shared: Stage, question: str, length: str) -> None:
    octets = request(headers={"Content-Length": length}).replace(b"Content-Length: 0\r\n", b"")
    async with await RawClient.connect(shared.url) as visitor:
        await visitor.send(octets + b"{}")
        await visitor.closed(timeout=20)
    assert not visitor.received.startswith((b"HTTP/1.1 500", b"HTTP/1.1 200"))
    assert (await shared.ask(question)).complete


HUGE: dict[str, Callable[[], dict[str, Any]]] = {
    "100,000 messages": lambda: conversation(*["x"] * 100_001),
    "a million emoji": lambda: conversation("🙂" * 1_000_000),
    "a million keys": lambda: {**conversation("x"), **{f"k{n}": 0 for n in range(200_000)}},
    "10,000 parts": lambda: {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "x"}] * 100_000}]
    },
}


@pytest.fixture(scope="module")
def roomy() -> Iterator[Stage]:
    """A service with a high limit for bodies, so that the other limits apply."""
    with stage(2, **FAST, max_body_bytes=16 * MEBI) as running:
        yield running


@pytest.mark.parametrize("name", HUGE)
async def test_t4_huge_bodies_are_refused_in_bounded_time_and_memory(
    shared: Stage, roomy: Stage, name: str
) -> None:
    octets = json.dumps(HUGE[name](), ensure_ascii=False).encode()
    answer = await shared.ask(octets)
    assert (answer.status, answer.error["code"]) == (400, "invalid_request")
    assert answer.ended_at < 20
    calls = len(roomy.upstream.journal)
    answer = await roomy.ask(octets)
    assert answer.ended_at < 20
    if name != "a million keys":  # unknown keys are ignored, for any number of them
        assert (answer.status, answer.error["code"]) == (400, "invalid_request")
        assert len(roomy.upstream.journal) == calls
    assert roomy.service.memory < 400 * MEBI


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
async def test_t4_nesting_of_a_megabyte_is_refused(roomy: Stage, opening: str) -> None:
    answer = await roomy.ask((opening * (MEBI // len(opening))).encode())
    assert (answer.status, answer.error["code"]) == (400, "invalid_request")
    assert answer.ended_at < 20


@pytest.mark.parametrize("letter", ["[", "*", "<", "`", " ", "\\", '"', "字", "\n"])
async def test_t31_work_is_linear_in_the_length_of_a_text(unlimited: Stage, letter: str) -> None:
    async def work(size: int) -> float:
        body = json.dumps(conversation("old", letter * size, "new"), ensure_ascii=False).encode()
        before = unlimited.service.cpu
        answers = [await unlimited.ask(body) for _ in range(3)]
        assert all(answer.complete for answer in answers)
        return unlimited.service.cpu - before

    await assert_linear_work(work, 2 * MEBI)


@pytest.fixture(scope="module")
def unlimited() -> Iterator[Stage]:
    """A service without a limit on lengths that would keep a slow scanner from showing."""
    with stage(2, **FAST, max_message_chars=16 * MEBI) as running:
        yield running
