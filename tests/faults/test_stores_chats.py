"""Faults of the store of chats: refused in time before the model, patient after (D5, D8, D11)."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kefu.errors import StoreUnavailable
from kefu.sessions import Asked, Begun, Ended, Retention, Session, SessionId, Sessions
from kefu.stores.dynamodb import DynamoStore
from kefu.stores.guarded_sessions import IN_A_ROW, GuardedSessions
from kefu.stores.sqlite import SqliteStore
from tests.contract.child import Child
from tests.fakes.fault_proxy import FaultProxy
from tests.fakes.throttling_front import ThrottlingFront
from tests.faults.test_stores import FAULTS, eventually
from tests.faults.test_stores_sqlite import FULL, WRITERS, locked

TIMEOUT = 0.6
SLACK = 0.4
"""Seconds by which a busy machine may be late."""
AT_ONCE = 0.1

ONE = SessionId("0123456789abcdef0123456789abcdef")


@dataclass
class Site:
    store: GuardedSessions
    direct: Sessions
    """The same store, without the network's faults."""
    degraded: list[str]

    async def begin(self, client_id: str | None = None, text: str = "hello") -> Begun:
        now = time.time()
        session = Session(ONE, "title", "default", now, now)
        return await self.store.begin(session, Asked(text, client_id), now)

    async def texts(self) -> list[tuple[str, str]]:
        kept = await self.direct.messages(ONE, now=time.time())
        return [(message.content, message.status) for message in kept]


@contextlib.asynccontextmanager
async def site_of(store: Sessions, direct: Sessions) -> AsyncIterator[Site]:
    degraded: list[str] = []
    await store.session(ONE)  # its library is loaded, a connection is open
    guarded = GuardedSessions(
        store, timeout=TIMEOUT, first_answer=5, on_degraded=degraded.append, pause=0.25
    )
    await guarded.session(ONE)
    yield Site(guarded, direct, degraded)
    await guarded.aclose()


@pytest.fixture
async def site(table: DynamoStore, proxy: FaultProxy) -> AsyncIterator[Site]:
    store = DynamoStore(table.table, time.time, endpoint=proxy.url)
    async with site_of(store.sessions(Retention()), table.sessions(Retention())) as site:
        yield site
    await store.aclose()


async def refused_in(work: Awaitable[object]) -> float:
    """Seconds until it was refused."""
    started = time.monotonic()
    with pytest.raises(StoreUnavailable):
        await work
    return time.monotonic() - started


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

    async def back() -> bool:
        return not site.store.circuit.open

    await eventually(back)
    begun = await site.begin(text="back")
    await site.store.finish(ONE, begun.message.id, Ended("ok", "yes"), time.time())
    # What was refused may have been saved late, before or after, and then has failed.
    kept = [message for message in await site.texts() if message[0] != "hello"]
    assert kept == [("back", "ok"), ("yes", "ok")]


async def test_d5_a_table_that_throttles_refuses_messages(
    table: DynamoStore, dynamodb_local: str
) -> None:
    with ThrottlingFront(dynamodb_local) as front:
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


async def test_one_slow_call_does_not_shut_out_the_next(site: Site, proxy: FaultProxy) -> None:
    proxy.set(latency=2)
    assert await refused_in(site.begin()) < TIMEOUT + SLACK
    proxy.set()
    assert not site.store.circuit.open
    assert (await site.begin()).message.status == "pending"


async def test_d5_a_message_that_was_saved_too_late_may_be_sent_again_at_once(
    site: Site, proxy: FaultProxy
) -> None:
    """Not after a minute: nobody is answering it."""
    proxy.set(latency=0.4)  # three questions to the store
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


async def test_d6_the_end_of_a_turn_waits_longer_than_its_beginning(
    site: Site, proxy: FaultProxy
) -> None:
    """And is tried although others have found the store away."""
    begun = await site.begin()
    proxy.set(down=True)
    for _ in range(IN_A_ROW):
        await refused_in(site.begin())
    assert site.store.circuit.open
    proxy.set(latency=TIMEOUT)
    ended = Ended("ok", "late, but all of it")
    answer = await site.store.finish(ONE, begun.message.id, ended, time.time())
    assert answer
    assert ("late, but all of it", "ok") in await site.texts()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kefu.sqlite3"


async def test_d11_a_locked_file_refuses_messages_in_time_and_goes_on_reading(file: Path) -> None:
    store = SqliteStore(file, time.time)
    sessions = store.sessions(Retention())
    async with site_of(sessions, sessions) as site:
        begun = await site.begin()
        with locked(file, WRITERS):
            assert await refused_in(site.begin()) < TIMEOUT + SLACK
            kept = await site.store.messages(ONE, now=time.time())
            assert [message.id for message in kept] == [1]
            ending = asyncio.create_task(
                site.store.finish(ONE, begun.message.id, Ended("ok", "yes"), time.time())
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
