"""The upstream's host is at fault, or silent: rows U10 to U14 and L4 of the fault matrix."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

from tests.fakes import behaviours as b
from tests.fakes.certificate import self_signed
from tests.fakes.fixtures import Staged
from tests.fakes.stage import Stage
from tests.fakes.upstream import ScriptedUpstream, reserved_port


async def test_u10_refused_connection_is_503_and_cools_no_key(staged: Staged) -> None:
    upstream = ScriptedUpstream(listener=reserved_port())
    running = staged(1, upstream=upstream)
    answer = await running.ask()
    assert (answer.status, answer.error["code"]) == (503, "upstream_service_unavailable")
    assert answer.ended_at < 1.5
    with upstream:
        assert (await running.ask()).complete


async def test_u10_unknown_host_is_503(staged: Staged) -> None:
    running = staged(2, url="http://nosuch.invalid/v1")
    answer = await running.ask()
    assert (answer.status, answer.error["code"]) in [
        (503, "upstream_service_unavailable"),
        # A resolver that is slow to say no is a silent host.
        (504, "gateway_timeout"),
    ]
    assert answer.ended_at < 1.5
    assert b"nosuch" not in answer.raw


async def test_u10_u12_faults_of_the_host_cool_no_key(staged: Staged) -> None:
    running = staged(1)
    running.script(b.reset_at_once, b.silent, b.headers_then_silence, b.garbage, b.answer("there"))
    answers = [await running.ask() for _ in range(4)]
    assert [answer.status for answer in answers] == [503, 504, 200, 503]
    assert answers[2].error["code"] == "gateway_timeout"
    assert (await running.ask()).text == "there"


async def test_u10_reset_before_an_answer_gives_way_to_the_next_key(
    shared: Stage, question: str
) -> None:
    shared.script(b.reset_at_once, b.answer("fine"), asking=question)
    assert (await shared.ask(question)).text == "fine"


async def test_u11_untrusted_certificate_is_503_without_a_storm(
    staged: Staged, tmp_path: Path
) -> None:
    with ScriptedUpstream(tls=self_signed(tmp_path)) as upstream:
        running = staged(4, upstream=upstream)
        answer = await running.ask()
        assert (answer.status, answer.error["code"]) == (503, "upstream_service_unavailable")
        assert upstream.connections == 1
        assert upstream.journal == []
        line = await running.service.logged(code="upstream_service_unavailable")
        assert "certificate" in repr(line)


async def test_u12_silent_upstream_is_given_up_within_the_budget(
    shared: Stage, question: str
) -> None:
    shared.script(b.silent, asking=question)
    answer = await shared.ask(question)
    assert (answer.status, answer.error["code"]) == (504, "gateway_timeout")
    assert 0.9 < answer.ended_at < 1.5
    calls = shared.upstream.calls(question)
    assert len({call.key for call in calls}) == len(calls) == 2
    assert 0.4 < calls[1].asked_at - calls[0].asked_at < 0.8
    assert await shared.upstream.until(lambda: all(call.closed_at for call in calls), 0.5)


async def test_u12_silent_key_gives_way_to_the_next(shared: Stage, question: str) -> None:
    shared.script(b.silent, b.answer("fine"), asking=question)
    answer = await shared.ask(question)
    assert answer.complete
    assert answer.text == "fine"
    assert 0.4 < answer.head_at < 1.0


async def test_u13_thinking_upstream_is_bridged_with_pings(shared: Stage, question: str) -> None:
    """It answers 200 and says nothing: headers go out early, the next key's answer is whole."""
    shared.script(b.headers_then_silence, b.answer("one", " two"), asking=question)
    answer = await shared.ask(question)
    assert answer.complete
    assert answer.text == "one two"
    assert 0.2 < answer.head_at < 0.7
    times = [answer.head_at, *(at for at, _ in answer.comments), answer.events[0][0]]
    assert len(answer.comments) >= 2
    assert all(later - sooner < 0.6 for sooner, later in itertools.pairwise(times))
    assert all(text == "ping" for _, text in answer.comments)
    assert len(set(shared.upstream.keys(question))) == 2


async def test_u13_thinking_that_never_ends_is_an_error_event(shared: Stage, question: str) -> None:
    shared.script(b.headers_then_silence, asking=question)
    answer = await shared.ask(question)
    assert (answer.status, answer.error["code"]) == (200, "gateway_timeout")
    assert not answer.done
    assert len(answer.events) == 1
    calls = shared.upstream.calls(question)
    assert answer.ended_at < len(calls) * 1.0 + 0.7
    assert len({call.key for call in calls}) == len(calls) <= 4
    assert await shared.upstream.until(lambda: all(call.closed_at for call in calls), 0.5)


async def test_u13_failure_after_early_headers_is_an_error_event(
    staged: Staged, question: str
) -> None:
    running = staged(2)
    running.script(b.headers_then_silence, b.status(429), b.status(429))
    answer = await running.ask()
    assert (answer.status, answer.done) == (200, False)
    assert answer.error["code"] in ("gateway_timeout", "rate_limit_exceeded")
    assert answer.text == ""


async def test_u14_stall_is_an_error_event_after_what_was_said(
    shared: Stage, question: str
) -> None:
    shared.script(b.stall_after(3), asking=question)
    answer = await shared.ask(question)
    assert (answer.status, answer.error["code"]) == (200, "gateway_timeout")
    assert set(answer.error) == {"message", "type", "param", "code"}
    assert answer.text == b.pieces_text(3)
    assert (answer.done, answer.finish, answer.cut) == (False, None, False)
    silence = answer.events[-1][0] - answer.events[-2][0]
    assert 0.5 < silence < 1.5
    assert len(answer.comments) >= 2
    [call] = shared.upstream.calls(question)
    assert await shared.upstream.until(lambda: call.closed_at is not None, 0.5)


async def test_u14_slow_answer_does_not_stall_as_long_as_it_goes_on(
    shared: Stage, question: str
) -> None:
    shared.script(b.drip(4, delay=0.6), asking=question)
    answer = await shared.ask(question)
    assert answer.complete
    assert answer.text == "drop " * 4


async def test_l4_connection_that_went_stale_is_no_fault(staged: Staged) -> None:
    """The upstream closes its idle connections: the next question still needs one key only."""
    running = staged(2)
    for number in range(4):
        running.script(b.answer(f"number {number}"), asking=f"<{number}>")
        answer = await running.ask(f"<{number}>")
        assert answer.text == f"number {number}"
        running.upstream.close_idle()
        await asyncio.sleep(0.05)
    first, second = running.keys
    assert running.upstream.keys() == [first, second, first, second]


async def test_real_time_limits_hold(staged: Staged) -> None:
    """U12, U13, U14 with the limits of production: 2.5, 4.5 and 10 seconds, all at once."""
    real: dict[str, Any] = {"try_timeout": 2.5, "first_byte_budget": 4.5, "first_event_timeout": 10}
    running = staged(12, **real, stall_timeout=10, ping_interval=2.5)
    running.script(b.silent, asking="<never>")
    running.script(b.silent, b.answer("second"), asking="<silent>")
    running.script(b.headers_then_silence, b.answer("thought"), asking="<thinking>")
    running.script(b.stall_after(3), asking="<stall>")
    cases = ("<never>", "<silent>", "<thinking>", "<stall>")
    never, second, thought, stalled = await asyncio.gather(*map(running.ask, cases))
    assert (never.status, never.error["code"]) == (504, "gateway_timeout")
    assert 4.4 < never.ended_at < 5.0
    assert second.text == "second"
    assert 2.4 < second.head_at < 3.0
    assert thought.complete
    assert thought.text == "thought"
    assert 2.4 < thought.head_at < 3.0
    assert 9.9 < thought.ended_at < 10.5
    assert len(thought.comments) >= 3
    assert stalled.error["code"] == "gateway_timeout"
    assert 9.9 < stalled.events[-1][0] - stalled.events[-2][0] < 10.5
