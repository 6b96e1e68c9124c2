"""The upstream's host fails or is silent: rows U10 to U14 and L4 of the fault matrix."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import pytest

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
    assert answer.ended_at < 8
    with upstream:
        assert (await running.ask()).complete


async def test_u10_unknown_host_is_503(staged: Staged) -> None:
    running = staged(2, url="http://nosuch.invalid/v1")
    answer = await running.ask()
    assert (answer.status, answer.error["code"]) in [
        (503, "upstream_service_unavailable"),
        # A resolver that answers too late counts as a silent host.
        (504, "gateway_timeout"),
    ]
    assert b"nosuch" not in answer.raw


@pytest.mark.slow
async def test_u10_u12_faults_of_the_host_cool_no_key(staged: Staged) -> None:
    running = staged(1, max_duration=6)
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


@pytest.mark.slow
async def test_u12_u13_u14_time_limits_hold(staged: Staged) -> None:
    """The limits run concurrently: 2.5 s until another key is asked beside a silent one, 4.5 s
    until all keys are given up, and 10 s of silence within an answer or before its first event.
    """
    running = staged(12)
    running.script(b.silent, asking="<never>")
    running.script(b.silent, b.answer("second"), asking="<silent>")
    running.script(b.headers_then_silence, b.answer("one", " two"), asking="<thinking>")
    running.script(b.stall_after(3), asking="<stall>")
    cases = ("<never>", "<silent>", "<thinking>", "<stall>")
    never, second, thought, stalled = await asyncio.gather(*map(running.ask, cases))

    assert (never.status, never.error["code"]) == (504, "gateway_timeout")
    assert 4.4 < never.ended_at < 9
    first, hedge = running.upstream.calls("<never>")
    assert first.key != hedge.key
    assert hedge.asked_at - first.asked_at > 1.5
    assert await running.upstream.until(lambda: bool(first.closed_at and hedge.closed_at))

    assert (second.text, second.complete) == ("second", True)
    assert 2.4 < second.head_at < 8

    assert (thought.text, thought.complete) == ("one two", True)
    assert 2.4 < thought.head_at < 8
    assert thought.ended_at > 9.5
    times = [thought.head_at, *(at for at, _ in thought.comments), thought.events[0][0]]
    assert all(later - sooner < 8 for sooner, later in itertools.pairwise(times))
    assert [text for _, text in thought.comments] == ["ping"] * len(thought.comments)

    assert (stalled.status, stalled.error["code"]) == (200, "gateway_timeout")
    assert set(stalled.error) == {"message", "type", "param", "code"}
    assert stalled.text == b.pieces_text(3)
    assert (stalled.done, stalled.finish, stalled.cut) == (False, None, False)
    assert stalled.events[-1][0] - stalled.events[-2][0] > 9.5
    assert len(stalled.comments) >= 2
    [call] = running.upstream.calls("<stall>")
    assert await running.upstream.until(lambda: call.closed_at is not None)


@pytest.mark.slow
async def test_u13_thinking_that_never_ends_is_an_error_event(staged: Staged) -> None:
    """With a second key, which also thinks without an end, or which refuses."""
    running = staged(4, max_duration=13)
    running.script(b.headers_then_silence, asking="<both>")
    running.script(b.headers_then_silence, b.status(429), b.status(429), asking="<refused>")
    for answer in await asyncio.gather(running.ask("<both>"), running.ask("<refused>")):
        assert (answer.status, answer.error["code"]) == (200, "gateway_timeout")
        assert (answer.done, answer.text) == (False, "")
        assert len(answer.events) == 1
        assert answer.ended_at > 12.5
    calls = running.upstream.calls("<both>")
    assert len(calls) == 2
    assert await running.upstream.until(lambda: all(call.closed_at for call in calls))


@pytest.mark.slow
async def test_u14_a_slow_answer_is_no_stall(shared: Stage, question: str) -> None:
    shared.script(b.drip(4, delay=0.6), asking=question)
    answer = await shared.ask(question)
    assert answer.complete
    assert answer.text == "drop " * 4


async def test_l4_connection_that_went_stale_is_no_fault(staged: Staged) -> None:
    """The upstream closes its idle connections. The next question still needs one key only."""
    running = staged(2)
    for number in range(4):
        running.script(b.answer(f"number {number}"), asking=f"<{number}>")
        answer = await running.ask(f"<{number}>")
        assert answer.text == f"number {number}"
        running.upstream.close_idle()
        await asyncio.sleep(0.05)
    first, second = running.keys
    assert running.upstream.keys() == [first, second, first, second]
