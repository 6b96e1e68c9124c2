"""Requests that ask for another protocol are served in HTTP/1.1 (RFC 9110, section 7.8)."""

from __future__ import annotations

import pytest

from tests.fakes.asking import conversation
from tests.fakes.raw_client import RawClient, request
from tests.fakes.stage import Stage

H2C = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAEAAEAAAAIA"}
"""What the HTTP client of Java 11 and later sends with each request without TLS."""


@pytest.mark.parametrize("split", [0, 9, 200, -30], ids=["whole", "line", "headers", "body"])
async def test_c20_java_gets_its_answer_and_the_next_one_on_the_same_connection(
    shared: Stage, question: str, split: int
) -> None:
    octets = request("/v1/chat/completions", conversation(question, stream=False), headers=H2C)
    async with await RawClient.connect(shared.url) as visitor:
        for _ in range(2):
            for part in filter(None, (octets[:split], octets[split:])):
                await visitor.send(part)
            answer = (await visitor.response()).json
            assert answer["choices"][0]["message"]["content"] == "Hello from the model."


async def test_c20_a_chunked_body_and_a_pipelined_request_are_read(
    shared: Stage, question: str
) -> None:
    whole = request("/v1/chat/completions", conversation(question, stream=False))
    body = whole.partition(b"\r\n\r\n")[2]
    chunked = {**H2C, "Transfer-Encoding": "chunked"}
    octets = request("/v1/chat/completions", headers=chunked)
    octets += b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    async with await RawClient.connect(shared.url) as visitor:
        await visitor.send(octets + request("/health", method="GET"))
        answer = (await visitor.response()).json
        assert answer["choices"][0]["message"]["content"] == "Hello from the model."
        assert (await visitor.response()).status == 200


@pytest.mark.parametrize("method", ["GET", "CONNECT"])
async def test_t34_a_websocket_and_a_tunnel_get_a_plain_answer(shared: Stage, method: str) -> None:
    headers = {"Connection": "Upgrade", "Upgrade": "websocket"}
    async with await RawClient.connect(shared.url) as visitor:
        await visitor.send(request("/nothing", method=method, headers=headers))
        assert (await visitor.response()).status == 404
