"""HTTP/1.0, as nginx speaks it to its upstreams by default (RFC 9112, sections 6.1 and 9.3)."""

from __future__ import annotations

import pytest

from tests.fakes import behaviours as b
from tests.fakes.asking import conversation
from tests.fakes.fixtures import Staged
from tests.fakes.raw_client import RawClient, request
from tests.fakes.stage import ORIGIN, Stage


def http10(octets: bytes) -> bytes:
    return octets.replace(b" HTTP/1.1\r\n", b" HTTP/1.0\r\n", 1)


@pytest.mark.parametrize("connection", ["close", "keep-alive"])
@pytest.mark.parametrize("before", [b"", b"\r\n\r\n"], ids=["", "empty lines"])
async def test_c20_a_streamed_answer_has_no_framing_and_ends_with_the_connection(
    shared: Stage, question: str, connection: str, before: bytes
) -> None:
    headers = {"Origin": ORIGIN, "Connection": connection}
    octets = before + http10(request(body=conversation(question), headers=headers))
    async with await RawClient.connect(shared.url) as visitor:
        # The request line in two parts, as a slow network delivers it.
        await visitor.send(octets[:9])
        await visitor.send(octets[9:])
        assert await visitor.closed(timeout=20)
    head, _, body = visitor.received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert b"transfer-encoding" not in head.lower()
    assert b"connection: close" in head.lower()
    assert ORIGIN.encode() in head
    assert body.startswith(b"data: {")
    assert body.endswith(b"data: [DONE]\n\n")
    assert all(line.startswith(b"data: ") for line in body.split(b"\n") if line)


async def test_c20_each_part_of_an_answer_is_sent_when_it_is_made(
    shared: Stage, question: str
) -> None:
    """The model never ends this answer, so that nothing arrives that waits for the end."""
    shared.script(b.stall_after(2), asking=question)
    async with await RawClient.connect(shared.url) as visitor:
        await visitor.send(http10(request(body=conversation(question))))
        assert await visitor.until(b"piece1 ", timeout=8)
    call = shared.upstream.calls(question)[0]
    assert await shared.upstream.until(lambda: call.closed_at is not None)


async def test_c20_other_answers_have_their_length(shared: Stage, question: str) -> None:
    async with await RawClient.connect(shared.url) as visitor:
        body = conversation(question, stream=False)
        await visitor.send(http10(request("/v1/chat/completions", body)))
        response = await visitor.response()
        assert response.json["choices"][0]["message"]["content"] == "Hello from the model."
        assert await visitor.closed(timeout=10)


@pytest.mark.parametrize(
    ("octets", "status", "code"),
    [
        (b"GET /health HTTP/1.0\r\nno colon\r\n\r\n", 400, "invalid_request"),
        (b"GET /health HTTP/1.0\r\nX: " + b"a" * 200_000, 431, "headers_too_large"),
        (b"GET /health HTTP/1.0\r\n" + b"a: b\r\n" * 40_000, 431, "headers_too_large"),
        (http10(request(body=b"x" * 70_000)), 400, "invalid_request"),
    ],
    ids=["malformed", "one long header", "many headers", "large body"],
)
async def test_t34_the_limits_hold_for_it_and_errors_have_our_shape(
    shared: Stage, octets: bytes, status: int, code: str
) -> None:
    async with await RawClient.connect(shared.url) as visitor:
        await visitor.send(octets)
        response = await visitor.response()
        assert (response.status, response.json["error"]["code"]) == (status, code)
        assert await visitor.closed(timeout=10)


async def test_c5_a_client_that_reads_nothing_is_disconnected(
    staged: Staged, question: str
) -> None:
    running = staged()
    running.script(b.answer(*["x" * 16_000] * 4000), asking=question)
    async with await RawClient.connect(running.url, receive_buffer=4096) as visitor:
        await visitor.send(http10(request(body=conversation(question))))
        call = await running.upstream.asked(question)
        assert await running.upstream.until(lambda: call.closed_at is not None)
        assert await visitor.closed(timeout=20)
    assert b"[DONE]" not in visitor.received


@pytest.mark.parametrize(
    "octets", [b"GET /hea", b"GET /health HTTP/1.0\r\nX: "], ids=["request line", "header"]
)
async def test_t34_slow_headers_end_the_connection(staged: Staged, octets: bytes) -> None:
    async with await RawClient.connect(staged().url) as visitor:
        await visitor.send(octets)
        assert await visitor.closed(timeout=20)
    assert visitor.received == b""
