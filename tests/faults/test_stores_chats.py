"""Faults of the session store: early errors before the model, retries after it (D5, D8, D11)."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from kefu.errors import StoreUnavailable
from kefu.sessions.store.model import (
    BeginResult,
    NewMessage,
    Retention,
    Session,
    SessionId,
    TurnOutcome,
)
from kefu.sessions.store.overview import SessionFilter
from kefu.sessions.store.ports import Sessions
from kefu.stores.dynamodb.store import DynamoStore
from kefu.stores.dynamodb.table import BATCH_PAUSE, BATCH_TRIES
from kefu.stores.guarded.circuit import IN_A_ROW
from kefu.stores.guarded.sessions import GuardedSessions
from kefu.stores.sqlite.store import SqliteStore
from tests.contract.chats import body, call
from tests.contract.child import Child
from tests.contract.engines import every_item
from tests.fakes.fault_proxy import FaultProxy
from tests.fakes.throttling_front import ThrottlingFront, UnprocessedFront
from tests.fakes.waits import waited
from tests.faults.test_stores import FAULTS, eventually
from tests.faults.test_stores_sqlite import FULL, WRITERS, locked

TIMEOUT = 0.6
SLACK = 1.0
"""Seconds by which a busy machine may be late."""
AT_ONCE = 0.1

ONE = SessionId("0123456789abcdef0123456789abcdef")


@dataclass
class Site:
    store: GuardedSessions
    direct: Sessions
    """The same store, without the network's faults."""
    degraded: list[str]

    async def begin(self, client_id: str | None = None, text: str = "hello") -> BeginResult:
        now = time.time()
        session = Session(ONE, "title", "default", now, now)
        return await self.store.begin(session, NewMessage(text, client_id), now)

    async def texts(self) -> list[tuple[str, str]]:
        kept = await self.direct.messages(ONE, now=time.time())
        return [(message.content, message.status) for message in kept]


@contextlib.asynccontextmanager
async def site_of(store: Sessions, direct: Sessions) -> AsyncIterator[Site]:
    degraded: list[str] = []
    await store.session(ONE)  # loads the store's library and opens a connection
    guarded = GuardedSessions(
        store, timeout=TIMEOUT, first_answer=5, on_degraded=degraded.append, pause=0.25
    )
    await guarded.session(ONE)
    yield Site(guarded, direct, degraded)
    await guarded.circuit.aclose()


@pytest.fixture
async def site(table: DynamoStore, proxy: FaultProxy) -> AsyncIterator[Site]:
    store = DynamoStore(table.table, time.time, endpoint=proxy.url)
    async with site_of(store.sessions(Retention()), table.sessions(Retention())) as site:
        yield site
    await store.aclose()


async def refused_in(work: Awaitable[object]) -> float:
    """Seconds that it waited until it was refused."""

    async def refused() -> None:
        with pytest.raises(StoreUnavailable):
            await work

    return await waited(refused())


@pytest.mark.parametrize("fault", FAULTS)
async def test_d5_a_message_is_refused_in_time_then_at_once_then_taken_again(
    site: Site, proxy: FaultProxy, fault: str
) -> None:
    FAULTS[fault](proxy)
    for _ in range(IN_A_ROW):
        assert await refused_in(site.begin()) < TIMEOUT + SLACK
    assert await refused_in(site.begin()) < AT_ONCE
    assert await refused_in(site.store.session(ONE)) < AT_ONCE
    assert site.degraded
    proxy.set()

    begun: list[BeginResult] = []

    async def back() -> bool:
        with contextlib.suppress(StoreUnavailable):
            begun.append(await site.begin("client 1", "back"))
        return bool(begun)

    await eventually(back)
    # On a busy machine a call of `back` may be refused, and begin the turn all the same.
    again, ended = begun[0].retries, TurnOutcome("ok", "yes")
    await site.store.finish(ONE, begun[0].message.id, ended, time.time(), again)
    # A refused message may have been saved late. Then its status is failed.
    kept = [message for message in await site.texts() if message[0] != "hello"]
    assert kept == [("back", "ok"), ("yes", "ok")]


async def test_d5_a_table_that_throttles_refuses_messages(
    table: DynamoStore, dynamodb_endpoint: str
) -> None:
    with ThrottlingFront(dynamodb_endpoint) as front:
        front.throttling = False
        store = DynamoStore(table.table, time.time, endpoint=front.url)
        async with site_of(store.sessions(Retention()), table.sessions(Retention())) as site:
            front.throttling = True
            assert await refused_in(site.begin()) < TIMEOUT + SLACK
            assert "ProvisionedThroughputExceededException" in site.degraded[0]
            assert front.refused == 2
            front.throttling = False
            assert (await site.begin()).message.id == 1
        await store.aclose()


@pytest.fixture
async def busy_table(
    table: DynamoStore, dynamodb_endpoint: str
) -> AsyncIterator[tuple[Sessions, UnprocessedFront]]:
    """Thirty chats, one of them with twenty turns, behind a proxy that leaves requests
    unprocessed.
    """
    with UnprocessedFront(dynamodb_endpoint) as front:
        store = DynamoStore(table.table, time.time, endpoint=front.url)
        chats = store.sessions(Retention())
        now = time.time()
        for number in [*range(30), *[29] * 19]:
            session = Session(SessionId(f"{number:032x}"), "title", "default", now, now)
            await chats.begin(session, NewMessage("hello"), now)
        front.batches.clear()
        yield chats, front
        await store.aclose()


LAST = SessionId(f"{29:032x}")


@pytest.mark.slow
async def test_d5_batches_that_are_processed_in_parts_are_sent_until_all_is_done(
    busy_table: tuple[Sessions, UnprocessedFront],
) -> None:
    chats, front = busy_table
    front.at_most = 10
    page = await chats.newest(SessionFilter(), None, 50, time.time())
    assert len({row.session.id for row in page.rows}) == len(page.rows) == 15
    assert len(front.batches) == 3
    await chats.delete(LAST)
    assert await chats.session(LAST) is None
    now = time.time()
    await chats.begin(Session(LAST, "title", "default", now, now), NewMessage("new"), now)
    assert [one.content for one in await chats.messages(LAST, now=time.time())] == ["new"]


@pytest.mark.slow
async def test_d5_batches_of_a_table_that_does_nothing_are_given_up_after_growing_pauses(
    busy_table: tuple[Sessions, UnprocessedFront],
) -> None:
    """H18: the caller receives the error, and no write continues."""
    chats, front = busy_table
    front.at_most = 0
    for work in (chats.newest(SessionFilter(), None, 50, time.time()), chats.delete(LAST)):
        front.batches.clear()
        with pytest.raises(StoreUnavailable, match="batch"):
            await work
        gaps = [after - before for before, after in pairwise(front.batches)]
        assert len(gaps) == BATCH_TRIES - 1
        shortest = [BATCH_PAUSE / 2 * 2**number for number in range(len(gaps))]
        assert all(gap >= least for gap, least in zip(gaps, shortest, strict=True)), gaps
        await asyncio.sleep(0.2)
        assert len(front.batches) == BATCH_TRIES


DELETING = range(8)
"""More calls than a deletion of this chat makes before it ends."""


@pytest.mark.parametrize("passing", DELETING)
async def test_t29_a_deletion_that_failed_after_any_call_is_completed_by_a_second_one(
    table: DynamoStore, dynamodb_endpoint: str, passing: int
) -> None:
    """H12: after the first attempt nobody can read the chat. After the second, the table has none
    of its items.
    """
    direct, now = table.sessions(Retention()), time.time()
    session = Session(ONE, "CANARY title", "default", now, now)
    begun = await direct.begin(session, NewMessage("CANARY question", "id-1"), now)
    sent = body([{"role": "user", "content": "CANARY question"}])
    await direct.record(call(begun.message.id, now, request=sent)._replace(session_id=ONE))
    await direct.finish(ONE, begun.message.id, TurnOutcome("ok", "CANARY answer"), now)
    with ThrottlingFront(dynamodb_endpoint) as front:
        store = DynamoStore(table.table, time.time, endpoint=front.url)
        chats = store.sessions(Retention())
        front.passing = passing
        try:
            await chats.delete(ONE)
        except StoreUnavailable:
            assert front.refused
            if passing:
                assert await direct.session(ONE) is None
                assert not await direct.messages(ONE, now=now)
                assert not (await direct.newest(SessionFilter(), None, 10, now)).rows
            front.throttling = False
            await chats.delete(ONE)
        else:
            assert not front.refused
        await store.aclose()
    left = await table._table.run(lambda: every_item(table._table.client, table.table))
    assert not [item for item in left if ONE in repr(item) or "CANARY" in repr(item)]


async def test_one_slow_call_does_not_shut_out_the_next(site: Site, proxy: FaultProxy) -> None:
    proxy.set(latency=2)
    assert await refused_in(site.begin()) < TIMEOUT + SLACK
    proxy.set()
    assert not site.store.circuit.open
    assert (await site.begin()).message.status == "pending"


async def test_d5_a_message_that_was_saved_too_late_may_be_sent_again_at_once(
    site: Site, proxy: FaultProxy
) -> None:
    """Not only after a minute, because no process is answering it."""
    proxy.set(latency=0.4)  # a message takes three calls of the store
    assert await refused_in(site.begin("client 1")) < TIMEOUT + SLACK
    proxy.set()

    async def ended() -> bool:
        return await site.texts() == [("hello", "failed")]

    await eventually(ended)
    again = await site.begin("client 1")
    assert again.busy_for == 0
    assert again.message.id == 1


async def test_d5_a_visitor_who_leaves_while_a_message_is_saved_may_send_it_again_at_once(
    site: Site, proxy: FaultProxy
) -> None:
    proxy.set(latency=0.1)
    beginning = asyncio.create_task(site.begin("client 1"))
    await asyncio.sleep(0.15)
    beginning.cancel()
    with pytest.raises(asyncio.CancelledError):
        await beginning
    proxy.set()

    async def ended() -> bool:
        return await site.texts() == [("hello", "failed")]

    await eventually(ended)
    assert (await site.begin("client 1")).busy_for == 0


@pytest.mark.slow
async def test_d6_the_end_of_a_turn_waits_longer_than_its_beginning(
    site: Site, proxy: FaultProxy
) -> None:
    """The call is made also while the circuit is open."""
    begun = await site.begin()
    proxy.set(down=True)
    for _ in range(IN_A_ROW):
        await refused_in(site.begin())
    assert site.store.circuit.open
    proxy.set(latency=TIMEOUT)
    ended = TurnOutcome("ok", "late, but all of it")
    answer = await site.store.finish(ONE, begun.message.id, ended, time.time())
    assert answer
    assert ("late, but all of it", "ok") in await site.texts()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kefu.sqlite3"


async def test_d11_a_locked_file_refuses_messages_in_time_and_can_be_read(file: Path) -> None:
    store = SqliteStore(file, time.time)
    sessions = store.sessions(Retention())
    async with site_of(sessions, sessions) as site:
        begun = await site.begin()
        with locked(file, WRITERS):
            assert await refused_in(site.begin()) < TIMEOUT + SLACK
            kept = await site.store.messages(ONE, now=time.time())
            assert [message.id for message in kept] == [1]
            ending = asyncio.create_task(
                site.store.finish(ONE, begun.message.id, TurnOutcome("ok", "yes"), time.time())
            )
            await asyncio.sleep(0.1)
        assert await ending
        assert ("yes", "ok") in await site.texts()
    await store.aclose()


def test_d11_a_full_disk_refuses_messages_then_takes_them_again(file: Path) -> None:
    with Child(f"sqlite:///{file}") as child:
        assert child.ask("chat", "1" * 32, 2) == 4
        child.ask("limit file size", FULL)
        assert "kefu.sqlite3: " in child.ask("chat", "2" * 32, 50)["unavailable"]
        child.ask("limit file size", -1)
        assert child.ask("chat", "3" * 32, 2) == 4
    with contextlib.closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT id FROM sessions").fetchall() == [("1" * 32,), ("3" * 32,)]
