"""H21, M2, M3: what filters read of a DynamoDB table, and chats of an older version in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

import pytest

from kefu.sessions.store.attendance import Attendance, State
from kefu.sessions.store.model import NewMessage, Retention, SessionId, TurnOutcome
from kefu.sessions.store.overview import Overview, SessionFilter
from kefu.sessions.store.ports import Sessions
from kefu.stores.dynamodb import items
from kefu.stores.dynamodb.queues import CONVERTED
from kefu.stores.dynamodb.sessions import AT_ONCE, LIST_ROWS, DynamoSessions
from kefu.stores.dynamodb.store import DynamoStore
from kefu.stores.dynamodb.table import Change, Row, text, value_of
from tests.contract.chats import ONE, chat_at, new
from tests.contract.engines import HandClock, every_item, new_table, patient
from tests.fakes.metering_front import MeteringFront

pytestmark = pytest.mark.slow

CHATS = AT_ONCE + 200
WAITING = 5
PEOPLE = SessionFilter(state="waiting")
UNITS, CALLS = 20, 4


def ids(number: int) -> SessionId:
    return SessionId(f"{number:032x}")


def as_before(number: int, at: float) -> list[tuple[Row, Any]]:
    """A chat as the version before stored it. The oldest ones wait, the next were rated down."""
    active = items.active_at(at)
    session = {
        "title": text(f"title {number}"),
        "config": text("default"),
        "created": value_of(at),
        "updated": value_of(at),
        "status": text("ok"),
        "lease": value_of(at),
        "active": text(active),
        "turns": value_of(1),
        "seq": value_of(2),
        "errors": value_of(0),
        "tokens": value_of(9),
        "expires": value_of(int(at + Retention().session)),
    }
    if number < WAITING:
        session |= {"state": text("waiting"), "since": value_of(at)}
    is_down = WAITING <= number < 2 * WAITING
    session |= {"downs": value_of(1)} if is_down else {}
    turn = {
        "status": text("ok"),
        "question": text(f"question {number}"),
        "answer": text("answer"),
        "asked": value_of(at),
        "answered": value_of(at),
        **({"rating": text("down")} if is_down else {}),
    }
    listed = items.active_row(active, ids(number)), {"expires": session["expires"]}
    rows = [(items.session_row(ids(number)), session), listed]
    return [*rows, (items.turn_row(ids(number), 1), turn)]


class Site:
    def __init__(self, table: DynamoStore, front: MeteringFront, clock: HandClock) -> None:
        self.table = table._table
        self.front = front
        self.clock = clock
        self.store = patient(DynamoStore(table.table, clock, endpoint=front.url))
        self.sessions = self.opened()

    def opened(self) -> DynamoSessions:
        """The chats as another process opens them."""
        return self.store.sessions(Retention())

    async def put(self, rows: Sequence[tuple[Row, Any]]) -> None:
        await self.table.run(lambda: items.put_rows(self.table, list(rows)))

    async def look(self, wanted: SessionFilter) -> tuple[list[Overview], list[int]]:
        """The rows of a filter, and the numbers of chats that its pages say were read."""
        rows, read = list[Overview](), list[int]()
        cursor = None
        for _ in range(9):
            page = await self.sessions.newest(wanted, cursor, 50, self.clock.now)
            rows += page.rows
            read += [page.read] if page.read is not None else []
            cursor = page.cursor
            if cursor is None:
                return rows, read
        raise AssertionError("the list does not end")

    async def queued(self) -> list[str]:
        found = await self.table.run(lambda: every_item(self.table.client, self.table.name))
        return sorted(one["pk"]["S"] for one in found if one["pk"]["S"].startswith("queue#"))


@pytest.fixture
async def site(
    dynamodb_endpoint: str, aws_environment: dict[str, str], clock: HandClock
) -> AsyncIterator[Site]:
    table = await new_table(dynamodb_endpoint, clock, with_ttl=False)
    with MeteringFront(dynamodb_endpoint) as front:
        site = Site(table, front, clock)
        yield site
        await site.store.aclose()
    await table.aclose()


async def older(site: Site) -> None:
    """A table of the version before, with chats of four days."""
    rows = [
        row for number in range(CHATS) for row in as_before(number, site.clock.now + 300 * number)
    ]
    await site.put([*rows, (Row(items.DAYS, "2096-10-02"), {"turns": value_of(CHATS)})])
    site.clock.now += 300 * CHATS


async def test_m2_chats_of_an_older_version_are_found_and_a_page_says_how_many_were_read(
    site: Site,
) -> None:
    """Then a look reads those that match, also for another process."""
    await older(site)
    rows, read = await site.look(PEOPLE)
    assert [row.session.id for row in rows] == [ids(n) for n in reversed(range(WAITING))]
    assert len(read) == 1
    assert AT_ONCE <= read[0] < CHATS
    site.sessions = site.opened()
    site.front.settle()
    assert await site.look(PEOPLE) == (rows, [])
    bill = site.front.settle()
    assert bill.calls.total() <= CALLS
    assert bill.reads <= UNITS


async def test_m2_a_conversion_that_stopped_goes_on_in_another_process(site: Site) -> None:
    await older(site)
    first = await site.sessions.newest(PEOPLE, None, 50, site.clock.now)
    assert first.rows == []
    site.sessions = site.opened()
    rows, read = await site.look(PEOPLE)
    assert len(rows) == WAITING
    assert read == []


async def test_m2_a_table_that_keeps_chats_for_long_is_converted_in_parts(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each day is a query, and those of ten years would take longer than a look may."""
    await older(site)
    site.clock.now += 20 * 86_400.0
    monkeypatch.setattr("kefu.stores.dynamodb.sessions.DAYS_AT_ONCE", 5)
    rows, looks = list[Overview](), 0
    while not rows and looks < 50:
        site.front.settle()
        rows = list((await site.sessions.newest(PEOPLE, None, 50, site.clock.now)).rows)
        assert site.front.settle().calls["Query"] < 12
        looks += 1
    assert len(rows) == WAITING
    assert 4 < looks < 9


async def test_m2_a_filter_without_a_queue_says_how_many_chats_were_read(site: Site) -> None:
    """And reads a hundred in a call."""
    await older(site)
    site.front.settle()
    rows, read = await site.look(SessionFilter(config_id="shop"))
    assert rows == []
    assert sum(read) == CHATS
    assert site.front.settle().calls["BatchGetItem"] <= CHATS // 100 + 2


async def test_m3_gaps_of_old_chats_are_found(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look that could not read all chats says that it is not whole."""
    await older(site)
    monkeypatch.setattr("kefu.stores.dynamodb.sessions.AT_ONCE", 200)
    looks = [await site.sessions.questions(0, site.clock.now, 9, site.clock.now, gaps=True)]
    looks += [await site.sessions.questions(0, site.clock.now, 9, site.clock.now, gaps=True)]
    assert [(len(one.questions), one.is_whole) for one in looks] == [(0, False), (WAITING, True)]


async def test_h21_a_look_at_a_long_queue_costs_twenty_read_units_at_most(site: Site) -> None:
    """Of a hundred chats that wait, and a hundred that are with a person, with long titles.

    The chats of the last ten minutes on a page are all read, to sort them.
    """
    long = text("客" * 100)
    for number in range(200):
        state = "waiting" if number % 2 else "person"
        (row, chat), listed, turn = as_before(number, site.clock.now + 120 * number)
        changed = {"state": text(state), "title": long, "line": long, "line_by": text("")}
        queued = Row(f"queue#{state}", f"{chat['active']['S']}#{ids(number)}"), listed[1]
        await site.put([(row, {**chat, **changed}), listed, turn, queued])
    site.clock.now += 120 * 200
    assert await site.look(SessionFilter(state="closed")) == ([], [])
    for state, limit in (("waiting", 50), ("person", 50), ("waiting", 8), ("person", 8)):
        site.front.settle()
        wanted = SessionFilter(state=cast(State, state))
        page = await site.sessions.newest(wanted, None, limit, site.clock.now)
        assert len(page.rows) == min(limit, LIST_ROWS)
        assert page.rows[0].line == "客" * 100
        assert site.front.settle().reads <= (UNITS if limit == 50 else UNITS / 2)


async def test_h21_a_look_at_the_list_costs_twenty_read_units_at_most(site: Site) -> None:
    """Of a site with 100,000 conversations a month: 23 in ten minutes. Pages miss no chat.

    A later page begins within ten minutes that are read again.
    """
    every = 600 / 23
    rows = [
        row for number in range(200) for row in as_before(number, site.clock.now + every * number)
    ]
    await site.put(rows)
    site.clock.now += every * 200
    site.front.settle()
    found, cursor = list[SessionId](), None
    while True:
        page = await site.sessions.newest(SessionFilter(), cursor, 50, site.clock.now)
        assert site.front.settle().reads <= (UNITS if cursor is None else 1.5 * UNITS)
        found += [row.session.id for row in page.rows]
        cursor = page.cursor
        if cursor is None:
            break
        assert len(page.rows) == LIST_ROWS
    assert found == [ids(number) for number in reversed(range(200))]


async def test_h21_a_look_at_chats_that_were_rated_down_reads_none_of_their_turns(
    site: Site,
) -> None:
    """Their newest comments are in the list. Those of an earlier version are read as before."""
    store, clock, wanted = site.sessions, site.clock, SessionFilter(rating="down")
    assert await site.look(wanted) == ([], [])
    for number in range(LIST_ROWS):
        clock.now += 600
        session = new(ids(number), clock.now)
        for turn in range(5):
            begun = await store.begin(session, NewMessage("question", f"id-{turn}"), clock.now)
            ended = TurnOutcome("ok", "answer " * 200)
            await store.finish(ids(number), begun.message.id, ended, clock.now)
        await store.rate(ids(number), "id-1", "down", f"comment {number}")
        await store.rate(ids(number), "id-3", "down", "taken back")
        await store.rate(ids(number), "id-3", "up")
    newest = [f"comment {number}" for number in reversed(range(LIST_ROWS))]
    site.front.settle()
    rows, _ = await site.look(wanted)
    assert [row.comment for row in rows] == newest
    assert site.front.settle().reads <= UNITS
    forget = Change("REMOVE #comment", None, {"#comment": "comment"}, {})
    await site.table.run(lambda: site.table.update(items.session_row(ids(3)), forget))
    assert [row.comment for row in (await site.look(wanted))[0]] == newest
    again = NewMessage("question", "id-1", replaces=True, attempt="a")
    begun = await store.begin(new(ids(3), clock.now), again, clock.now)
    await store.finish(ids(3), begun.message.id, TurnOutcome("ok", "b"), clock.now, begun.retries)
    assert "comment 3" not in [row.comment for row in (await site.look(wanted))[0]]


async def test_h21_a_new_table_needs_no_conversion(site: Site) -> None:
    assert await site.look(PEOPLE) == ([], [])
    await chat_at(site.sessions, ONE, site.clock.now, TurnOutcome("ok", "yes"))
    await site.sessions.set_attendance(ONE, Attendance("waiting", "", site.clock.now))
    site.sessions = site.opened()
    site.front.settle()
    rows, read = await site.look(PEOPLE)
    assert ([row.session.id for row in rows], read) == ([ONE], [])
    assert site.front.settle().calls.total() <= CALLS


async def test_h21_a_chat_is_in_the_queues_of_its_state_and_leaves_them(site: Site) -> None:
    """Also when it is used again later, and when it is deleted."""
    store, clock = site.sessions, site.clock
    begun = new(ONE, clock.now)._replace(user="anna@example.org")
    asked = await store.begin(begun, NewMessage("question", "client"), clock.now)
    ended = TurnOutcome("ok", "no", unanswered=True)
    await store.finish(ONE, asked.message.id, ended, clock.now)
    await store.rate(ONE, "client", "down")
    await store.set_attendance(ONE, Attendance("waiting", "", clock.now))
    [user, *others] = sorted(await site.queued(), key=lambda pk: "user" not in pk)
    assert user.startswith("queue#user#")
    assert "anna" not in user
    assert others == ["queue#downs", "queue#unanswered", "queue#waiting"]
    await store.rate(ONE, "client", "up")
    await store.set_attendance(ONE, Attendance("person", "Ingrid", clock.now))
    clock.now += 3600
    await store.begin(begun, NewMessage("again"), clock.now)
    queues = ["queue#person", "queue#unanswered", "queue#ups", user]
    assert await site.queued() == queues
    for wanted in (
        SessionFilter(state="person"),
        SessionFilter(rating="up"),
        SessionFilter(user="anna@example.org"),
    ):
        [row] = (await site.look(wanted))[0]
        assert row.session.updated_at == clock.now
    await store.delete(ONE)
    assert await site.queued() == []


async def test_h21_a_chat_waits_in_the_queue_before_its_state_says_so(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is killed between the two writes leaves an item too many, not one too few."""
    await chat_at(site.sessions, ONE, site.clock.now, TurnOutcome("ok", "yes"))

    async def killed(*_: object) -> tuple[bool, object]:
        raise KeyboardInterrupt

    monkeypatch.setattr(site.sessions, "_update", killed)
    with pytest.raises(KeyboardInterrupt):
        await site.sessions.set_attendance(ONE, Attendance("waiting", "", site.clock.now))
    assert await site.queued() == ["queue#waiting"]
    assert await site.look(PEOPLE) == ([], [])


async def test_h21_a_chat_stays_in_the_queue_of_a_state_that_it_keeps(site: Site) -> None:
    """As when another operator takes it over: the state before is the one after."""
    await chat_at(site.sessions, ONE, site.clock.now, TurnOutcome("ok", "yes"))
    await site.sessions.set_attendance(ONE, Attendance("person", "Ingrid", site.clock.now))
    session = await site.sessions._session(ONE, site.clock.now)
    await site.sessions._requeue(session, (), {"person", "waiting"})
    assert await site.queued() == ["queue#person"]


async def test_h21_an_outdated_item_of_a_queue_lists_no_chat_twice(site: Site) -> None:
    """The chat was used again, and the process was killed before it deleted the former item."""
    store, clock = site.sessions, site.clock
    for number in range(9):
        await chat_at(store, ids(number), clock.now, None)
        await store.set_attendance(ids(number), Attendance("waiting", "", clock.now))
        clock.now += 700
    expires = {"expires": value_of(int(clock.now + 99))}
    stale = [
        Row("queue#waiting", f"{items.active_at(clock.now - 99_999)}#{ids(n)}") for n in (3, 8)
    ]
    await site.put([(row, expires) for row in stale])
    assert await waiting(store, clock.now, 2) == [ids(n) for n in reversed(range(9))]


async def waiting(store: Sessions, now: float, limit: int) -> list[SessionId]:
    found, cursor = list[SessionId](), None
    for _ in range(20):
        page = await store.newest(PEOPLE, cursor, limit, now)
        found += [row.session.id for row in page.rows]
        cursor = page.cursor
        if cursor is None:
            break
    return found


def test_h21_the_key_of_the_conversion_stays_the_same() -> None:
    assert Row("queue", "converted") == CONVERTED
