"""The contract of every CallStore and SessionIndex: P10, P11, P27, P28, P33."""

from __future__ import annotations

import asyncio
import json

import pytest

from kefu.sessions.store.model import LEASE, NewMessage, SessionId, TurnOutcome
from kefu.sessions.store.overview import Day, Overview, SessionFilter
from kefu.sessions.store.ports import Sessions
from tests.contract.chats import DAY, ONE, TWO, ask, body, call, chat_at, new, response, turn
from tests.contract.engines import HandClock

EVERY = SessionFilter()


def ids(number: int) -> SessionId:
    return SessionId(f"{number:032x}")


async def test_p10_a_call_comes_back_as_it_was_sent(sessions: Sessions, clock: HandClock) -> None:
    """The body is not valid JSON, and not valid text either."""
    asked = await ask(sessions, clock, "你好")
    calls = [
        call(asked.id, clock.now, 1, b'{"messages": [1e400, 1.00, "\\u00e9"]}', error='{"code":1}'),
        call(asked.id, clock.now + 0.5, 2, b"\xff\x00 not text", "not JSON either \ud83d\ude42"),
        call(asked.id, clock.now + 0.75, 3, None, response("您好")),
    ]
    for one in reversed(calls):
        await sessions.record(one)
    assert await sessions.calls(ONE) == calls


async def test_p10_requests_over_a_long_chat_come_back_byte_for_byte(
    sessions: Sessions, clock: HandClock
) -> None:
    history: list[dict[str, str]] = [{"role": "system", "content": "你是一个有帮助的AI助手。" * 9}]
    sent = []
    for number in range(6):
        asked = await ask(sessions, clock, f'第{number}个 "问题" ' * 5)
        history.append({"role": "user", "content": asked.content})
        request = body([*history])
        answer = f"回答 {number}\n" * 20
        answered = await sessions.finish(ONE, asked.id, TurnOutcome("ok", answer), clock.now)
        assert answered
        sent.append(call(asked.id, clock.now, 1, request, response(answer)))
        await sessions.record(sent[-1])
        history.append({"role": "assistant", "content": answer})
        clock.now += 1
    assert await sessions.calls(ONE) == sent


async def test_a_call_recorded_twice_is_one_call(sessions: Sessions, clock: HandClock) -> None:
    asked = await ask(sessions, clock, "question")
    await sessions.record(call(asked.id, clock.now))
    answered = call(asked.id, clock.now, answer=response("yes"))
    await sessions.record(answered)
    assert await sessions.calls(ONE) == [answered]


async def test_calls_come_by_message_then_by_number(sessions: Sessions, clock: HandClock) -> None:
    """The calls of message 9 come before those of message 11: ids are compared as numbers."""
    numbers = {1: 1, 9: 12, 11: 2}
    for _ in range(6):
        await ask(sessions, clock, "question")
    for message, most in reversed(numbers.items()):
        for number in range(most, 0, -1):
            await sessions.record(call(message, clock.now, number))
    kept = [(one.message_id, one.number) for one in await sessions.calls(ONE)]
    assert kept == [(m, n) for m, most in numbers.items() for n in range(1, most + 1)]


async def test_d7_a_call_larger_than_an_item_may_be_is_kept_and_deleted_whole(
    sessions: Sessions, clock: HandClock
) -> None:
    """D7: the body of 1.2 MB compresses badly, so it takes several items."""
    asked = await ask(sessions, clock, "question")
    noise = "".join(chr(0x4E00 + (n * n * 7919 + n) % 20000) for n in range(400_000))
    large = call(asked.id, clock.now, 1, json.dumps({"x": noise}, ensure_ascii=False).encode())
    await sessions.record(large)
    small = call(asked.id, clock.now, 2)
    await sessions.record(small)
    assert await sessions.calls(ONE) == [large, small]
    shorter = call(asked.id, clock.now, 1)
    await sessions.record(shorter)
    assert await sessions.calls(ONE) == [shorter, small]
    await sessions.delete(ONE)
    assert await sessions.calls(ONE) == []


async def test_p33_raw_data_lives_shorter_than_its_session(
    sessions: Sessions, clock: HandClock
) -> None:
    await turn(sessions, clock, "question", "answer")
    await sessions.record(call(1, clock.now))
    clock.now += 6 * DAY
    await sessions.record(call(1, clock.now, 2))
    clock.now += DAY - 1
    assert [one.number for one in await sessions.calls(ONE)] == [1, 2]
    clock.now += 1
    assert [one.number for one in await sessions.calls(ONE)] == [2]
    assert len(await sessions.messages(ONE, now=clock.now)) == 2


async def test_p27_sessions_come_newest_first_page_by_page(
    sessions: Sessions, clock: HandClock
) -> None:
    """P27: over several days and within one second. A session that is used again comes first."""
    began = clock.now
    for number in range(12):
        await chat_at(
            sessions, ids(number), began + number // 2 * 0.4 * DAY, TurnOutcome("ok", "yes")
        )
    now = clock.now = began + 3 * DAY
    first = await sessions.session(ids(0))
    assert first
    await sessions.begin(first, NewMessage("again"), now)
    rows: list[Overview] = []
    cursor: str | None = None
    for _ in range(30):
        page = await sessions.newest(EVERY, cursor, 5, now)
        assert len(page.rows) <= 5
        rows += page.rows
        if (cursor := page.cursor) is None:
            break
    assert cursor is None
    assert [row.session.id for row in rows][:3] == [ids(0), ids(11), ids(10)]
    assert {row.session.id for row in rows} == {ids(number) for number in range(12)}
    assert len(rows) == 12
    times = [row.session.updated_at for row in rows]
    assert times == sorted(times, reverse=True)


async def test_p27_a_row_tells_turns_tokens_errors_and_the_status(
    sessions: Sessions, clock: HandClock
) -> None:
    await turn(sessions, clock, "question", "answer", "client 1")
    [row] = (await sessions.newest(EVERY, None, 10, clock.now)).rows
    assert (row.turns, row.tokens, row.errors, row.status) == (1, 25, 0, "ok")
    asked = await ask(sessions, clock, "another", "client 2")
    [row] = (await sessions.newest(EVERY, None, 10, clock.now)).rows
    assert (row.turns, row.tokens, row.errors, row.status) == (2, 25, 0, "pending")
    ended = TurnOutcome("partial", "half", 30, 2)
    await asyncio.gather(*(sessions.finish(ONE, asked.id, ended, clock.now) for _ in range(3)))
    [row] = (await sessions.newest(EVERY, None, 10, clock.now)).rows
    assert (row.turns, row.tokens, row.errors, row.status) == (2, 57, 1, "partial")
    assert row.session == await sessions.session(ONE)


async def test_p27_a_retried_message_is_no_separate_turn(
    sessions: Sessions, clock: HandClock
) -> None:
    await turn(sessions, clock, "question", "answer", "client 1")
    same = NewMessage("question", "client 1")
    await asyncio.gather(*(sessions.begin(new(ONE, 0.0), same, clock.now) for _ in range(3)))
    [row] = (await sessions.newest(EVERY, None, 10, clock.now)).rows
    assert (row.turns, row.status) == (1, "ok")
    await turn(sessions, clock, "next", "yes")
    [row] = (await sessions.newest(EVERY, None, 10, clock.now)).rows
    assert (row.turns, row.status) == (2, "ok")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (SessionFilter(status="ok"), {1}),
        (SessionFilter(status="failed"), {2}),
        (SessionFilter(status="partial"), {3}),
        (SessionFilter(status="interrupted"), {4}),
        (SessionFilter(status="pending"), {5}),
        (SessionFilter(has_error=True), {2, 3}),
        (SessionFilter(has_error=False), {1, 4, 5}),
        (SessionFilter(since=1 * DAY), {3, 4, 5}),
        (SessionFilter(until=1 * DAY), {1, 2}),
        (SessionFilter(since=0.5 * DAY, until=2 * DAY, has_error=True), {2, 3}),
        (SessionFilter(since=9 * DAY), set()),
    ],
)
async def test_p27_sessions_are_found_by_date_status_and_errors(
    sessions: Sessions, clock: HandClock, wanted: SessionFilter, expected: set[int]
) -> None:
    began = clock.now
    endings = [
        TurnOutcome("ok", "yes"),
        TurnOutcome("failed"),
        TurnOutcome("partial", "y"),
        None,
        None,
    ]
    for number, ended in enumerate(endings):
        await chat_at(sessions, ids(number + 1), began + number * 0.5 * DAY, ended)
    now = clock.now = began + 2 * DAY
    since = None if wanted.since is None else began + wanted.since
    until = None if wanted.until is None else began + wanted.until
    asked_for = SessionFilter(since, until, wanted.status, wanted.has_error)
    found = set()
    cursor: str | None = None
    for _ in range(30):
        page = await sessions.newest(asked_for, cursor, 2, now)
        found |= {row.session.id for row in page.rows}
        if (cursor := page.cursor) is None:
            break
    assert found == {ids(number) for number in expected}


async def test_an_interrupted_turn_shows_in_the_list(sessions: Sessions, clock: HandClock) -> None:
    await ask(sessions, clock, "question")
    clock.now += LEASE
    [row] = (await sessions.newest(EVERY, None, 10, clock.now)).rows
    assert row.status == "interrupted"


async def test_t29_deleted_and_expired_sessions_are_not_listed(
    sessions: Sessions, clock: HandClock
) -> None:
    await turn(sessions, clock, "question", "answer")
    clock.now += DAY
    await chat_at(sessions, TWO, clock.now, TurnOutcome("ok", "yes"))
    clock.now += 29 * DAY
    assert [r.session.id for r in (await sessions.newest(EVERY, None, 9, clock.now)).rows] == [TWO]
    await sessions.delete(TWO)
    assert (await sessions.newest(EVERY, None, 9, clock.now)).rows == []


async def test_an_invalid_cursor_is_a_value_error(sessions: Sessions, clock: HandClock) -> None:
    for cursor in ("", "~", "nan~", "1e999~x", "yesterday", "💥", "12"):
        with pytest.raises(ValueError, match="cursor"):
            await sessions.newest(EVERY, cursor, 10, clock.now)


async def test_p28_days_are_summed_in_utc(sessions: Sessions, clock: HandClock) -> None:
    """P28: the timestamp 4,000,000,000 is 2096-10-02, 07:06:40 UTC."""
    endings = [
        TurnOutcome("ok", "yes", 10, 1),
        TurnOutcome("failed", "", 5, 0),
        TurnOutcome("partial", "y", 7, 2),
    ]
    for number, ended in enumerate(endings):
        await chat_at(sessions, ids(number), clock.now, ended)
    asked = await sessions.begin(new(ONE, clock.now), NewMessage("late"), clock.now)
    clock.now += 17 * 3600
    await sessions.finish(ONE, asked.message.id, TurnOutcome("ok", "yes", 100, 20), clock.now)
    first = Day("2096-10-02", 3, 2, 22, 3, 3, answers=1)
    second = Day("2096-10-03", 1, 0, 100, 20, 1, answers=1)
    assert await sessions.days("2096-10-01", "2096-10-31") == [first, second]
    assert await sessions.days("2096-10-02", "2096-10-02") == [first]
    assert await sessions.days("2096-10-03", "2096-11-01") == [second]
    assert await sessions.days("2096-09-01", "2096-10-01") == []
