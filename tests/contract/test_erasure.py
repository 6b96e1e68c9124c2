"""H12: all chats of one user are found and deleted, in every store, also after an interruption."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kefu.errors import StoreUnavailable
from kefu.sessions.store.contacts import ContactRequest
from kefu.sessions.store.model import NewMessage, Retention, SessionId, TurnOutcome
from kefu.sessions.store.ports import Sessions
from kefu.stores.dynamodb.store import DynamoStore
from kefu.stores.sql.database import writing
from kefu.stores.sql.rows import AT_ONCE, DELETED_MARK, purge_part
from kefu.stores.sqlite.store import SqliteStore
from tests.contract.chats import DAY, ONE, TWO, new
from tests.contract.engines import HandClock, every_item, new_table, settled
from tests.fakes.throttling_front import ThrottlingFront

THREE = SessionId("3" * 32)


async def chat_of(
    store: Sessions, user: str, session_id: SessionId, now: float, turns: int = 1
) -> None:
    session = new(session_id, now)._replace(user=user)
    for number in range(turns):
        asked = NewMessage(f"CANARY of {user}", f"id-{number}")
        begun = await store.begin(session, asked, now)
        ended = TurnOutcome("ok", "CANARY answer")
        await store.finish(session_id, begun.message.id, ended, now, begun.retries)


def request(session_id: str, name: str, now: float) -> ContactRequest:
    return ContactRequest(name, session_id, "CANARY", "canary@example.no", "?", now, due_at=now)


async def of_user(store: Sessions, user: str) -> set[SessionId]:
    found: set[SessionId] = set()
    cursor = None
    while True:
        part = await store.of_user(user, cursor)
        found |= set(part.ids)
        cursor = part.cursor
        if cursor is None:
            return found


async def test_h12_the_chats_of_a_user_are_that_users_alone(
    sessions: Sessions, clock: HandClock
) -> None:
    """Neither those of a longer name nor anonymous ones. A second turn adds no second chat."""
    await chat_of(sessions, "auth0|42", ONE, clock.now, turns=2)
    await chat_of(sessions, "auth0|4", TWO, clock.now)
    await chat_of(sessions, "", THREE, clock.now)
    assert await of_user(sessions, "auth0|42") == {ONE}
    assert await of_user(sessions, "nobody") == set()
    await sessions.delete(ONE)
    assert await of_user(sessions, "auth0|42") == set()
    assert await of_user(sessions, "auth0|4") == {TWO}
    assert len(await sessions.messages(TWO, now=clock.now)) == 2


async def test_h12_many_chats_are_found_over_several_parts(
    sessions: Sessions, clock: HandClock
) -> None:
    """More than a megabyte, which DynamoDB reads at once."""
    names = [SessionId(f"{number:032x}") for number in range(16)]
    for name in names:
        session = new(name, clock.now)._replace(user="kari")
        await sessions.begin(session, NewMessage("x" * 100_000), clock.now)
    assert await of_user(sessions, "kari") == set(names)


async def test_h12_requests_of_a_chat_are_deleted_and_others_stay(
    sessions: Sessions, clock: HandClock
) -> None:
    """A request that waits for its delivery is delivered no more. Deleting again does nothing."""
    for name, session_id in (("a", ONE), ("b", TWO), ("c", ONE), ("d", "")):
        await sessions.add_contact(request(session_id, name, clock.now))
        clock.now += 1
    for _ in range(2):
        await sessions.delete_contacts(ONE)
        assert [one.id for one in await sessions.contacts(10)] == ["d", "b"]
    claims = [await sessions.claim_contact(clock.now, clock.now + 60) for _ in range(3)]
    assert {one.id for one in claims if one} == {"b", "d"}


async def test_h12_a_request_that_is_being_delivered_stays_deleted(
    sessions: Sessions, clock: HandClock
) -> None:
    await sessions.add_contact(request(ONE, "a", clock.now))
    claimed = await sessions.claim_contact(clock.now, clock.now + 60)
    assert claimed
    await sessions.delete_contacts(ONE)
    await sessions.end_contact(claimed, due_at=0.0, delivered_at=clock.now)
    assert await sessions.contacts(10) == []
    assert await sessions.claim_contact(clock.now + 99, clock.now + 160) is None


async def test_h12_sqlite_a_deletion_killed_after_any_part_is_found_again(
    tmp_path: Path, clock: HandClock
) -> None:
    """The chat has rows for several transactions. As after SIGKILL, no later one follows."""
    for parts in range(4):
        store = SqliteStore(tmp_path / f"{parts}.sqlite3", clock)
        chats = store.sessions(Retention())
        await chat_of(chats, "kari", ONE, clock.now, turns=2 * AT_ONCE)
        await settled(store._file)  # its clean-up would finish the deletion
        await store._file.run(_mark)
        for _ in range(parts):
            assert await store._file.run_in_thread(_part), "the deletion has already ended"
        assert await chats.session(ONE) is None
        assert await of_user(chats, "kari") == {ONE}
        await chats.delete(ONE)
        assert await of_user(chats, "kari") == set()
        await store.aclose()


def _mark(db: sqlite3.Connection) -> int:
    return db.execute("UPDATE sessions SET updated = ? WHERE id = ?", (DELETED_MARK, ONE)).rowcount


def _part(db: sqlite3.Connection) -> bool:
    with writing(db):
        return purge_part(db, ONE, DELETED_MARK)


@pytest.fixture
async def table(dynamodb_local: str, aws_environment: dict[str, str]) -> AsyncIterator[DynamoStore]:
    store = await new_table(dynamodb_local, time.time, with_ttl=False)
    yield store
    await store.aclose()


@pytest.mark.slow
async def test_h12_dynamodb_a_chat_that_has_expired_is_found_until_ttl_deletes_it(
    table: DynamoStore,
) -> None:
    chats, now = table.sessions(Retention()), time.time()
    await chat_of(chats, "kari", ONE, now - 31 * DAY)
    assert await chats.session(ONE) is None
    assert await of_user(chats, "kari") == {ONE}


CALLS = range(9)
"""The last one lets all calls of an erasure pass."""


@pytest.mark.parametrize("passing", CALLS)
async def test_h12_dynamodb_an_erasure_that_ended_after_any_call_is_completed_by_the_next(
    table: DynamoStore, dynamodb_local: str, passing: int
) -> None:
    """The next one finds the chat by its user, until the table has no item of it."""
    direct, now = table.sessions(Retention()), time.time()
    await chat_of(direct, "kari", ONE, now)
    await chat_of(direct, "ola", TWO, now)
    await direct.add_contact(request(ONE, "request", now))
    with ThrottlingFront(dynamodb_local) as front:
        store = DynamoStore(table.table, time.time, endpoint=front.url)
        chats = store.sessions(Retention())
        front.passing = passing
        try:
            await chats.delete_contacts(ONE)
            await chats.delete(ONE)
        except StoreUnavailable:
            assert front.refused
            assert await of_user(direct, "kari") == {ONE}
            await direct.delete_contacts(ONE)
            await direct.delete(ONE)
        else:
            assert passing == CALLS[-1], "the erasure makes fewer calls"
        await store.aclose()
    assert await of_user(direct, "kari") == set()
    left = await table._table.run(lambda: every_item(table._table.client, table.table))
    assert not [item for item in left if ONE in repr(item) or "CANARY of kari" in repr(item)]
    assert len(await direct.messages(TWO, now=now)) == 2
