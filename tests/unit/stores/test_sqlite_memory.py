"""Chats in memory are in an SQLite database of their process (M6)."""

from __future__ import annotations

import asyncio

import pytest

from kefu.chat.limits import Rate
from kefu.errors import StoreUnavailable
from kefu.sessions.store.model import NewMessage, Retention, Session, SessionId, TurnOutcome
from kefu.sessions.store.overview import SessionFilter
from kefu.stores.memory import MemoryStore
from kefu.stores.sql.sessions import SqlSessions
from kefu.stores.sqlite import memory
from kefu.stores.sqlite.file import TIDY_AFTER
from kefu.stores.sqlite.memory import SqliteMemory
from kefu.stores.sqlite.migrations import MIGRATIONS, migrate

DAY = 86400.0


class Clock:
    now = 4_000_000_000.0

    def __call__(self) -> float:
        return self.now


def named(number: int) -> SessionId:
    return SessionId(f"{number:032x}")


async def chat(store: SqlSessions, clock: Clock, number: int, text: str = "Hello?") -> None:
    clock.now += 1
    session = Session(named(number), "title", "default", clock.now, clock.now)
    begun = await store.begin(session, NewMessage(text), clock.now)
    await store.finish(session.id, begun.message.id, TurnOutcome("ok", "Yes."), clock.now)


async def listed(store: SqlSessions, clock: Clock, text: str = "") -> list[int]:
    page = await store.newest(SessionFilter(text=text), None, 100, clock.now)
    return [int(row.session.id, 16) for row in page.rows]


async def tidied(store: SqlSessions, clock: Clock) -> None:
    """The first call a minute later starts a clean-up, which runs beside other work."""
    clock.now += TIDY_AFTER + 1
    await store.used()
    for _ in range(50):
        await asyncio.sleep(0)


def test_a_store_is_migrated_and_the_copy_of_the_tests_is_equal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copied = SqliteMemory(Clock())
    monkeypatch.setattr(memory, "migrate", migrate)
    migrated = SqliteMemory(Clock())
    assert content(migrated) == content(copied)
    assert content(copied)[0] == [(len(MIGRATIONS),)]


def content(store: SqliteMemory) -> list[object]:
    queries = ("PRAGMA user_version", "PRAGMA page_size", "SELECT * FROM sqlite_master")
    return [store._memory.execute(query).fetchall() for query in queries]


async def test_two_stores_in_one_process_have_different_chats() -> None:
    clock = Clock()
    one, other = MemoryStore(clock), MemoryStore(clock)
    await chat(one.sessions(Retention()), clock, 1)
    assert await listed(one.sessions(Retention()), clock) == [1]
    assert await listed(other.sessions(Retention()), clock) == []
    await one.aclose()
    await other.aclose()


async def test_least_recently_used_chats_are_deleted_over_the_limit() -> None:
    clock = Clock()
    store = SqlSessions(SqliteMemory(clock, most=10), clock, Retention())
    for number in range(30):
        await chat(store, clock, number)
    await tidied(store, clock)
    assert await listed(store, clock) == list(range(29, 19, -1))
    await store._file.aclose()


async def test_expired_chats_are_deleted_and_release_their_memory() -> None:
    clock = Clock()
    memory = SqliteMemory(clock)
    store = SqlSessions(memory, clock, Retention())
    empty = await memory.used()
    for number in range(30):
        await chat(store, clock, number, "客" * 5000)
    full = await memory.used()
    clock.now += 31 * DAY
    await tidied(store, clock)
    assert await memory.used() < empty + (full - empty) / 20
    await store._file.aclose()


async def test_chats_are_found_by_their_words_at_once_and_after_a_clean_up() -> None:
    clock = Clock()
    store = SqlSessions(SqliteMemory(clock), clock, Retention())
    await chat(store, clock, 1, "Do you sell boots?")
    assert await listed(store, clock, "boot") == [1]
    await chat(store, clock, 2, "Are the boots warm?")
    await tidied(store, clock)
    assert await listed(store, clock, "boots") == [2, 1]
    await store._file.aclose()


async def test_closed_store_is_unavailable_and_its_limits_go_on() -> None:
    clock = Clock()
    store = MemoryStore(clock)
    chats = store.sessions(Retention())
    await chat(chats, clock, 1)
    clock.now += TIDY_AFTER + 1
    await chats.used()  # a clean-up begins after the store is closed
    await store.aclose()
    await asyncio.sleep(0)
    with pytest.raises(StoreUnavailable):
        await chats.session(named(1))
    assert await store.take("bucket", Rate(1, 60)) == 0
