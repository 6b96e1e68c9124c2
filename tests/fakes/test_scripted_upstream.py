"""The scripted upstream follows its scripts and records its calls; the fault tests depend
on that.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.fakes import behaviours as b
from tests.fakes.asking import Answer, ask, client, conversation
from tests.fakes.certificate import self_signed
from tests.fakes.raw_client import RawClient, exchange, request
from tests.fakes.upstream import ScriptedUpstream, reserved_port

PATH = "/chat/completions"


@pytest.fixture
def upstream() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as running:
        yield running


async def asked(upstream: ScriptedUpstream, text: str = "Hello?", key: str = "k") -> Answer:
    headers = {"Authorization": f"Bearer {key}"}
    return await ask(upstream.base_url, text, path=PATH, headers=headers)


async def test_upstream_answers_in_events_and_notes_the_call(upstream: ScriptedUpstream) -> None:
    upstream.script("*", b.answer("你", "好", reasoning=["hm"], usage={"total_tokens": 3}))
    answer = await asked(upstream, "What?", key="secret")
    assert answer.complete
    assert (answer.text, answer.deltas("reasoning_content")) == ("你好", ["hm"])
    assert answer.finish == "stop"
    assert answer.chunks[-1]["usage"] == {"total_tokens": 3}
    [call] = upstream.journal
    assert (call.key, call.method, call.path) == ("secret", "POST", "/v1" + PATH)
    assert call.body == conversation("What?")
    assert call.sent > len(answer.raw)


async def test_upstream_plays_behaviours_in_order_per_key_and_question(
    upstream: ScriptedUpstream,
) -> None:
    upstream.script("*", b.status(429), b.answer("second"), b.answer("last"))
    upstream.script("mine", b.answer("by key"))
    upstream.script("*", b.answer("by question"), asking="#7")
    answers = [await asked(upstream) for _ in range(4)]
    assert [answer.status for answer in answers] == [429, 200, 200, 200]
    assert [answer.text for answer in answers[1:]] == ["second", "last", "last"]
    assert (await asked(upstream, key="mine")).text == "by key"
    assert (await asked(upstream, "case #7", key="mine")).text == "by question"
    assert upstream.keys("#7") == ["mine"]


@pytest.mark.parametrize("behaviour", [b.reset_after(3), b.eof_after(3, clean=False)])
async def test_upstream_breaks_off_after_its_chunks(
    upstream: ScriptedUpstream, behaviour: b.Behaviour
) -> None:
    upstream.script("*", behaviour)
    async with await RawClient.connect(upstream.base_url) as peer:
        await peer.send(request(PATH, conversation("x")))
        assert await peer.closed(timeout=20)
    assert peer.received.count(b"piece") == 3
    assert not peer.received.endswith(b"0\r\n\r\n")


async def test_upstream_sees_when_its_peer_leaves(upstream: ScriptedUpstream) -> None:
    upstream.script("*", b.stall_after(2))
    peer = await RawClient.connect(upstream.base_url)
    await peer.send(request(PATH, conversation("x")))
    assert await peer.until(b"piece1")
    left = time.monotonic()
    peer.close()
    call = await upstream.asked()
    assert await upstream.until(lambda: call.closed_at is not None)
    assert call.closed_at is not None
    assert 0 <= call.closed_at - left < 10


async def test_upstream_keeps_connections_alive(upstream: ScriptedUpstream) -> None:
    async with client() as visitor:
        for _ in range(3):
            response = await visitor.post(upstream.base_url + PATH, json=conversation("x"))
            assert response.text.endswith("[DONE]\n\n")
    assert (len(upstream.journal), upstream.connections) == (3, 1)


async def test_upstream_that_is_silent_sends_nothing(upstream: ScriptedUpstream) -> None:
    upstream.script("*", b.silent, b.headers_then_silence)
    for expected in (b"", b"200 Scripted"):
        async with await RawClient.connect(upstream.base_url) as peer:
            await peer.send(request(PATH, conversation("x")))
            assert not await peer.closed(timeout=0.2)
            assert expected in peer.received
            assert bool(expected) == bool(peer.received)


async def test_upstream_cuts_a_body_into_single_bytes(upstream: ScriptedUpstream) -> None:
    upstream.script("*", b.raw("data: é\n\n".encode(), packet_size=1))
    response = await exchange(upstream.base_url, request(PATH, conversation("x")))
    assert response.body.count(b"1\r\n") == len("data: é\n\n".encode())


async def test_upstream_stops_sending_to_a_peer_that_does_not_read() -> None:
    with ScriptedUpstream(send_buffer=65536) as upstream:
        upstream.script("*", b.long_line(64 << 20))
        async with await RawClient.connect(upstream.base_url, receive_buffer=65536) as peer:
            await peer.send(request(PATH, conversation("x")))
            call = await upstream.asked()
            await asyncio.sleep(0.3)
            assert 0 < call.sent < 1 << 20


async def test_upstream_counts_the_hellos_of_peers_that_refuse_its_certificate(
    tmp_path: Path,
) -> None:
    with ScriptedUpstream(tls=self_signed(tmp_path)) as upstream:
        async with httpx.AsyncClient(verify=ssl.create_default_context()) as visitor:
            with pytest.raises(httpx.ConnectError, match="certificate"):
                await visitor.post(upstream.base_url + PATH, json={})
        assert (upstream.connections, upstream.journal) == (1, [])


async def test_reserved_port_refuses_until_an_upstream_takes_it() -> None:
    listener = reserved_port()
    port = listener.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        await RawClient.connect(f"http://127.0.0.1:{port}")
    with ScriptedUpstream(listener=listener) as upstream:
        assert (await asked(upstream)).complete
