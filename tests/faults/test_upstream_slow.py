"""Slow and half-broken models over real sockets: hedging, first content, key health, fallback.

tests/unit/relay tests the decisions in virtual time. The limits here leave room for a busy machine;
each test prints its figures (`pytest -s`).
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from kefu.relay.key_pool import fingerprint
from tests.fakes import behaviours as b
from tests.fakes.fixtures import Staged
from tests.fakes.stage import Stage
from tests.fakes.upstream import ScriptedUpstream

SPARE = "sk-canary-spare-7d1e4b9c2a"
ROLE = b.chunk({"role": "assistant", "content": ""})
LATE = 2.4
"""Seconds: a request that took longer has waited for a silent key."""


@pytest.mark.slow
async def test_model_that_needs_3_seconds_answers_in_3_with_1_2_and_3_keys(staged: Staged) -> None:
    stages = [staged(keys) for keys in (1, 2, 3)]
    for running in stages:
        running.script(b.answer("slow", before=3.0))
    answers = await asyncio.gather(*(running.ask() for running in stages))
    for running, answer in zip(stages, answers, strict=True):
        calls = running.upstream.calls()
        first_byte = answer.events[0][0]
        assert (answer.status, answer.text, answer.complete) == (200, "slow", True)
        assert answer.head_at >= 3.0
        assert len(calls) == min(2, len(running.keys))
        closed = [await loser_closed(running) - answer.asked_at - first_byte for _ in calls[1:]]
        assert all(late < 2 for late in closed)
        late_ms = [round(1000 * late) for late in closed]
        print(f"{len(running.keys)} keys: 200 after {answer.head_at:.2f} s, loser +{late_ms} ms")


@pytest.mark.slow
async def test_one_silent_key_of_two_slows_at_most_two_of_a_hundred(staged: Staged) -> None:
    running = staged(2)
    running.script(b.silent, key=running.keys[0])
    answers = [await running.ask() for _ in range(100)]
    assert all(answer.complete for answer in answers)
    late = sum(answer.ended_at > LATE for answer in answers)
    print(f"{late} of 100 late; {sum(a.ended_at > 1 for a in answers)} above 1 s")
    assert late <= 2


async def test_key_that_cuts_its_answers_cuts_at_most_two_of_a_hundred(staged: Staged) -> None:
    running = staged(2)
    running.script(b.reset_after(3), key=running.keys[0])
    answers = [await running.ask() for _ in range(100)]
    cut = sum(not answer.complete for answer in answers)
    print(f"{cut} of 100 cut")
    assert 1 <= cut <= 2
    lines = [line for line in running.service.logs() if line.get("message") == "request"]
    assert f"{fingerprint(running.keys[0])}:cut" in repr(lines[:2])


async def loser_closed(running: Stage) -> float:
    """The time at which the connection of the second call was closed."""
    call = running.upstream.calls()[1]
    assert await running.upstream.until(lambda: call.closed_at is not None)
    return call.closed_at or 0.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [
        b.chunks(ROLE, done=False).then({"error": {"code": 429, "message": "later"}}),
        b.Stream((b.event(ROLE),), ending="reset"),
        b.Stream((b.event(ROLE),), ending="cut"),
        b.chunks(ROLE, b.chunk({}, finish="stop")),
        b.Stream((b.event(ROLE),), ending="silence"),
    ],
    ids=["429", "reset", "cut", "stop", "silence"],
)
@pytest.mark.parametrize("path", ["/api/chat", "/v1/chat/completions"])
async def test_failure_after_the_role_chunk_is_not_seen(
    staged: Staged, fault: b.Stream, path: str
) -> None:
    running = staged(2)
    running.script(fault, b.answer("whole ", "answer"))
    body = {"messages": [{"role": "user", "content": "Hello?"}], "stream": True}
    answer = await running.ask(body, path=path)
    assert (answer.text, answer.complete) == ("whole answer", True)
    assert len(answer.deltas("role")) == 1
    assert len(running.upstream.calls()) == 2


@pytest.mark.slow
async def test_whole_answer_of_v1_is_hedged_as_a_stream_is(staged: Staged) -> None:
    running = staged(2)
    running.script(b.silent, b.answer("whole"))
    body = {"messages": [{"role": "user", "content": "Hello?"}]}
    answer = await running.ask(body, path="/v1/chat/completions")
    assert answer.status == 200
    assert answer.json["choices"][0]["message"]["content"] == "whole"
    assert answer.head_at > LATE


@pytest.mark.slow
async def test_first_content_after_12_seconds_of_one_key_is_complete(staged: Staged) -> None:
    async def thinks(exchange: b.Exchange) -> None:
        role, *rest = b.answer("thought").parts
        await exchange.head(200, b.SSE)
        await exchange.part(role)
        await asyncio.sleep(12)
        for part in rest:
            await exchange.part(part)
        await exchange.end()

    running = staged(1)
    running.script(thinks)
    answer = await running.ask()
    assert (answer.text, answer.complete) == ("thought", True)
    times = [answer.head_at, *(at for at, _ in answer.comments), answer.events[0][0]]
    longest = max(later - sooner for sooner, later in itertools.pairwise(times))
    print(f"content after {answer.events[0][0]:.1f} s, longest gap {longest:.2f} s")
    assert answer.head_at < 8
    assert longest < 8


@pytest.mark.slow
async def test_slow_model_needs_one_setting(staged: Staged) -> None:
    """The headers come after 12 s. Pings reach the widget, which waits 5 s for a first byte."""
    running = staged(2, patience="slow")
    running.script(b.answer("deep", before=12))
    answer = await running.ask()
    assert (answer.text, answer.complete) == ("deep", True)
    assert answer.head_at < 8
    assert len(running.upstream.calls()) == 1


FIRST_FAILS: dict[str, Any] = {"429": b.status(429), "500": b.status(500), "silent": b.silent}


@pytest.mark.parametrize("keys", [1, 3])
@pytest.mark.parametrize("name", FIRST_FAILS)
async def test_second_upstream_answers_when_the_first_cannot(
    staged: Staged, name: str, keys: int
) -> None:
    with ScriptedUpstream() as spare:
        running = with_fallback(staged, spare, keys)
        running.script(FIRST_FAILS[name])
        answer = await running.ask()
        assert (answer.text, answer.complete) == ("Hello from the model.", True)
        assert answer.headers["x-upstream"] == "fallback"
        [call] = spare.calls()
        assert (call.key, call.body["model"]) == (SPARE, "spare-model")
        line = await running.service.logged(upstream="fallback")
        assert f"{fingerprint(SPARE)}:ok" in line["keys"]
        print(f"{name}, {keys} keys: answered after {answer.head_at:.2f} s")


async def test_error_of_the_request_and_a_good_first_upstream_ask_no_second(
    staged: Staged,
) -> None:
    with ScriptedUpstream() as spare:
        running = with_fallback(staged, spare, 2)
        running.script(b.status(400), b.answer("first"))
        refused, answered = await running.ask(), await running.ask()
        assert (refused.status, refused.error["code"]) == (400, "invalid_request")
        assert (answered.text, answered.headers["x-upstream"]) == ("first", "primary")
        assert spare.journal == []


async def test_unknown_model_is_the_operators_error(staged: Staged) -> None:
    """The visitor's request is valid, and the log names the setting that is wrong."""
    running = staged(2, log_level="DEBUG")
    body = {"error": {"message": "no such model: LongCat-9", "code": "model_not_found"}}
    running.script(b.status(404, body))
    answer = await running.ask()
    assert (answer.status, answer.error["code"]) == (503, "upstream_service_unavailable")
    assert answer.headers["x-should-retry"] == "false"
    assert "retry-after" not in answer.headers
    assert b"LongCat-9" not in answer.raw
    assert len(running.upstream.calls()) == 1
    line = await running.service.logged(code="upstream_service_unavailable")
    assert "does not know this model" in line["misconfigured"][0]
    said = await running.service.logged(outcome="http_404")
    assert "no such model: LongCat-9" in said["said"]


def with_fallback(staged: Staged, spare: ScriptedUpstream, keys: int) -> Stage:
    running = staged(
        keys,
        fallback_url=spare.base_url,
        fallback_model="spare-model",
        fallback_api_keys=SPARE,
    )
    running.keys.append(SPARE)  # no answer and no log line may contain it
    return running
