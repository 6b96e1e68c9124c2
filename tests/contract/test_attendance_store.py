"""The contract of every AttendanceStore (H4, H5): states, and lines that are stored once."""

from __future__ import annotations

import asyncio
from itertools import product

import pytest

from kefu.sessions.store.attendance import STATES_BEFORE, Attendance, OperatorMessage, State
from kefu.sessions.store.contacts import ContactRequest
from kefu.sessions.store.model import NewMessage, SessionId, TurnOutcome
from kefu.sessions.store.overview import LINE_LENGTH, SessionFilter
from kefu.sessions.store.ports import Sessions
from tests.contract.chats import DAY, ONE, TWO, ask, chat_at, turn
from tests.contract.engines import HandClock

STATES: tuple[State, ...] = ("bot", "waiting", "person", "closed")
PATHS: dict[State, tuple[State, ...]] = {
    "bot": (),
    "waiting": ("waiting",),
    "person": ("person",),
    "closed": ("waiting", "closed"),
}


def line(text: str = "Hello", id: str = "line-0001") -> OperatorMessage:
    return OperatorMessage(text, "Ingrid 客", id)


def taken(clock: HandClock, operator: str = "Ingrid 客") -> Attendance:
    return Attendance("person", operator, clock.now)


async def test_h5_a_new_chat_is_the_bots(sessions: Sessions, clock: HandClock) -> None:
    await turn(sessions, clock, "one", "two")
    session = await sessions.session(ONE)
    assert session
    assert session.attendance == Attendance("bot", "", 0.0)


async def test_h5_a_state_follows_only_its_predecessors_with_who_and_when(
    sessions: Sessions, clock: HandClock
) -> None:
    for number, (before, after) in enumerate(product(STATES, STATES)):
        name = SessionId(f"{number:032x}")
        await chat_at(sessions, name, clock.now, TurnOutcome("ok", "hi"))
        for state in PATHS[before]:
            await sessions.set_attendance(name, Attendance(state, "first", clock.now))
        clock.now += 5
        wanted = Attendance(after, "first" if before == "person" else "second", clock.now)
        found = await sessions.set_attendance(name, wanted)
        assert found
        if before in STATES_BEFORE[after]:
            assert found == wanted
        else:
            assert (found.state, found.operator) == (before, "first" if PATHS[before] else "")
        session = await sessions.session(name)
        assert session
        assert session.attendance == found
        assert session.title == "新对话"


async def test_h4_one_of_many_operators_takes_a_chat(sessions: Sessions, clock: HandClock) -> None:
    await turn(sessions, clock, "one", "two")
    names = [f"operator {number}" for number in range(6)]
    found = await asyncio.gather(
        *(sessions.set_attendance(ONE, taken(clock, name)) for name in names)
    )
    session = await sessions.session(ONE)
    assert session
    assert [one.operator for one in found if one] == [session.attendance.operator] * 6


async def test_m6_only_the_operator_who_has_a_chat_changes_it_or_writes(
    sessions: Sessions, clock: HandClock
) -> None:
    await turn(sessions, clock, "one", "two")
    has = taken(clock)
    assert await sessions.set_attendance(ONE, has) == has
    clock.now += 1
    refused: list[tuple[Attendance, str]] = [
        (Attendance("bot", "Bob", clock.now), ""),
        (Attendance("closed", "Bob", clock.now), ""),
        (Attendance("bot", "Bob", clock.now), has.operator),
        (Attendance("waiting", "", clock.now), has.operator),
        (taken(clock, "Bob"), ""),
        (taken(clock, "Bob"), "Kari"),
    ]
    for change, taken_from in refused:
        assert await sessions.set_attendance(ONE, change, taken_from) == has
    assert await sessions.add_line(ONE, line()._replace(operator="Bob"), clock.now) is None
    assert await sessions.add_line(ONE, line(), clock.now)
    assert [one.content for one in await sessions.messages(ONE, now=clock.now)][2:] == ["Hello"]


async def test_m6_one_of_many_operators_takes_a_chat_from_another_who_writes_no_more(
    sessions: Sessions, clock: HandClock
) -> None:
    await turn(sessions, clock, "one", "two")
    await sessions.set_attendance(ONE, taken(clock))
    takers = [taken(clock, f"operator {number}") for number in range(6)]
    await asyncio.gather(*(sessions.set_attendance(ONE, one, "Ingrid 客") for one in takers))
    session = await sessions.session(ONE)
    assert session
    assert session.attendance in takers
    by = session.attendance.operator
    assert await sessions.add_line(ONE, line(), clock.now) is None
    assert await sessions.add_line(ONE, line("Hi", "line-0002")._replace(operator=by), clock.now)
    assert [one.operator for one in await sessions.messages(ONE, now=clock.now)] == ["", "", by]


async def test_h4_a_line_is_stored_once_whatever_is_sent_again(
    sessions: Sessions, clock: HandClock
) -> None:
    await turn(sessions, clock, "one", "two")
    await sessions.set_attendance(ONE, taken(clock))
    ids = await asyncio.gather(*(sessions.add_line(ONE, line(), clock.now) for _ in range(5)))
    assert len(set(ids)) == 1
    later = await sessions.add_line(ONE, line("other"), clock.now + 1)
    assert later == ids[0]
    stored = await sessions.messages(ONE, now=clock.now)
    assert [one.content for one in stored] == ["one", "two", "Hello"]
    assert (stored[-1].id, stored[-1].operator) == (ids[0], "Ingrid 客")
    assert (stored[-1].role, stored[-1].status, stored[-1].reply_to) == ("assistant", "ok", None)
    assert stored[-1].created_at == pytest.approx(clock.now)
    await sessions.set_attendance(ONE, Attendance("bot", "Ingrid 客", clock.now))
    assert await sessions.add_line(ONE, line(), clock.now) == ids[0]  # a late retry


async def test_h4_no_line_is_stored_unless_a_person_has_the_chat(
    sessions: Sessions, clock: HandClock
) -> None:
    assert await sessions.add_line(ONE, line(), clock.now) is None
    assert await sessions.set_attendance(ONE, taken(clock)) is None
    await turn(sessions, clock, "one", "two")
    for state in ("bot", "waiting"):
        await sessions.set_attendance(ONE, Attendance(state, "", clock.now))
        assert await sessions.add_line(ONE, line(), clock.now) is None
    assert len(await sessions.messages(ONE, now=clock.now)) == 2


async def test_h4_lines_and_messages_keep_their_order_and_find_their_own_answers(
    sessions: Sessions, clock: HandClock
) -> None:
    await turn(sessions, clock, "one", "two")
    asked = await ask(sessions, clock, "running")
    await sessions.set_attendance(ONE, taken(clock))
    for number in range(3):
        await sessions.add_line(ONE, line(f"line {number}", f"line-{number:04}"), clock.now)
    await sessions.finish(ONE, asked.id, TurnOutcome("ok", "late answer"), clock.now)
    last = await ask(sessions, clock, "four", "visitor-0001")
    await sessions.finish(ONE, last.id, TurnOutcome("ok", ""), clock.now)
    stored = await sessions.messages(ONE, now=clock.now)
    texts = [one.content for one in stored]
    assert texts == ["one", "two", "running", "late answer", "line 0", "line 1", "line 2", "four"]
    assert [one.id for one in stored] == sorted({one.id for one in stored})
    newest = await sessions.messages(ONE, before=stored[-1].id, limit=2, now=clock.now)
    assert [one.content for one in newest] == ["line 1", "line 2"]


async def test_h4_a_message_to_a_person_is_known_when_it_is_sent_again(
    sessions: Sessions, clock: HandClock
) -> None:
    await turn(sessions, clock, "one", "two")
    asked = await ask(sessions, clock, "for you", "visitor-0001")
    await sessions.finish(ONE, asked.id, TurnOutcome("ok", ""), clock.now)
    session = await sessions.session(ONE)
    assert session
    again = await sessions.begin(session, NewMessage("for you", "visitor-0001"), clock.now)
    assert (again.message.id, again.message.status, again.busy_for) == (asked.id, "ok", 0.0)
    assert again.answer is None


async def test_h5_the_list_is_filtered_by_state(sessions: Sessions, clock: HandClock) -> None:
    await chat_at(sessions, ONE, clock.now, TurnOutcome("ok", "hi"))
    await chat_at(sessions, TWO, clock.now, TurnOutcome("ok", "hi"))
    await sessions.set_attendance(TWO, Attendance("waiting", "", clock.now))
    listed: dict[State, list[SessionId]] = {"bot": [ONE], "waiting": [TWO], "person": []}
    for state, expected in listed.items():
        page = await sessions.newest(SessionFilter(state=state), None, 10, clock.now)
        assert [row.session.id for row in page.rows] == expected
    [row] = (await sessions.newest(SessionFilter(state="waiting"), None, 10, clock.now)).rows
    assert row.session.attendance == Attendance("waiting", "", clock.now)


async def test_h21_a_chat_that_waits_has_the_text_of_its_newest_form(
    sessions: Sessions, clock: HandClock
) -> None:
    """Only while it waits, and until the form is deleted, alone or with its chat."""
    await chat_at(sessions, ONE, clock.now, TurnOutcome("ok", "hi"))

    async def ask(id: str, message: str) -> None:
        clock.now += 1
        asked = ContactRequest(id, ONE, "", "a@example.org", message, clock.now, due_at=clock.now)
        await sessions.add_contact(asked)
        await sessions.set_attendance(ONE, Attendance("waiting", "", clock.now))

    async def listed() -> tuple[str, str]:
        [row] = (await sessions.newest(SessionFilter(), None, 10, clock.now)).rows
        return row.session.attendance.state, row.request

    await ask("a", f"Help, {'x' * LINE_LENGTH}")
    assert await listed() == ("waiting", f"Help, {'x' * (LINE_LENGTH - 6)}")
    await ask("b", "Anybody?")
    assert await listed() == ("waiting", "Anybody?")
    await sessions.set_attendance(ONE, Attendance("person", "Ingrid", clock.now))
    assert await listed() == ("person", "")
    await sessions.set_attendance(ONE, Attendance("bot", "Ingrid", clock.now))
    await ask("c", "Once more.")
    assert await listed() == ("waiting", "Once more.")
    for id in ("c", "b", "a"):
        await sessions.delete_contact(id)
    assert await listed() == ("waiting", "")
    await ask("d", "And again.")
    await sessions.delete_contacts(ONE)
    assert await listed() == ("waiting", "")


async def newest_line(store: Sessions, clock: HandClock) -> tuple[str, str]:
    [row] = (await store.newest(SessionFilter(), None, 10, clock.now)).rows
    return row.line, row.line_by


async def test_h21_a_row_has_the_newest_line_of_the_visitor_or_an_operator(
    sessions: Sessions, clock: HandClock
) -> None:
    """Not the model's answer, and not an older message that is sent or answered again."""
    await turn(sessions, clock, "first", "the answer", "client-1")
    assert await newest_line(sessions, clock) == ("first", "")
    await turn(sessions, clock, f"客{'x' * 500}", "an answer", "client-2")
    assert await newest_line(sessions, clock) == (f"客{'x' * (LINE_LENGTH - 1)}", "")
    known = await sessions.session(ONE)
    assert known
    for replaces in (False, True):
        again = NewMessage("first", "client-1", replaces)
        begun = await sessions.begin(known, again, clock.now)
        assert begun.replaces == replaces
        assert await newest_line(sessions, clock) == (f"客{'x' * (LINE_LENGTH - 1)}", "")
    await sessions.set_attendance(ONE, taken(clock))
    for _ in range(2):
        assert await sessions.add_line(ONE, line("I am here"), clock.now)
        assert await newest_line(sessions, clock) == ("I am here", "Ingrid 客")
    await ask(sessions, clock, "thank you")
    assert await newest_line(sessions, clock) == ("thank you", "")


async def test_h4_state_and_lines_end_with_their_chat(sessions: Sessions, clock: HandClock) -> None:
    await turn(sessions, clock, "one", "two")
    await sessions.set_attendance(ONE, taken(clock))
    await sessions.add_line(ONE, line(), clock.now)
    await sessions.delete(ONE)
    assert await sessions.add_line(ONE, line(), clock.now) is None
    assert await sessions.set_attendance(ONE, taken(clock)) is None
    await turn(sessions, clock, "new", "chat")
    assert [one.content for one in await sessions.messages(ONE, now=clock.now)] == ["new", "chat"]
    session = await sessions.session(ONE)
    assert session
    assert session.attendance.state == "bot"
    await sessions.set_attendance(ONE, taken(clock))
    clock.now += 31 * DAY
    assert await sessions.set_attendance(ONE, Attendance("bot", "", clock.now)) is None
    assert await sessions.add_line(ONE, line(), clock.now) is None


async def test_h7_a_line_is_found_by_its_words_and_is_no_question(
    sessions: Sessions, clock: HandClock
) -> None:
    await turn(sessions, clock, "one", "two")
    await sessions.set_attendance(ONE, taken(clock))
    assert await sessions.add_line(ONE, line("Our cellar is open"), clock.now)
    found = await sessions.newest(SessionFilter(text="cellar"), None, 10, clock.now)
    assert [row.session.id for row in found.rows] == [ONE]
    asked = await sessions.questions(0, clock.now + 1, 10, clock.now)
    assert ([one.text for one in asked.questions], asked.read) == (["one"], 1)
