"""Faults of the store, seen by a visitor of the whole service (D1, D2, D3, D8, D11, T33)."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import statistics
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kefu.keypool import fingerprint
from kefu.stores.dynamodb import DynamoStore
from tests.contract.engines import new_table
from tests.fakes import behaviours as b
from tests.fakes.fault_proxy import FaultProxy
from tests.fakes.fixtures import Staged
from tests.fakes.stage import Stage
from tests.fakes.throttling_front import ThrottlingFront
from tests.parts.plugin import CREDENTIALS

LIMITED: dict[str, Any] = {"ip_requests_per_minute": 1000, "site_requests_per_minute": 1000}
"""Far from being reached: the store is asked, that is all."""
DELAY = 0.3
"""Seconds by which the first chunk may come later for a store that is in trouble."""


class Site:
    """A DynamoDB table, a network and a throttle before it, and what a service needs to use it."""

    def __init__(self, table: DynamoStore, front: ThrottlingFront, proxy: FaultProxy) -> None:
        self.table = table
        self.front = front
        self.proxy = proxy

    @property
    def settings(self) -> dict[str, Any]:
        environment = {**CREDENTIALS, "AWS_ENDPOINT_URL_DYNAMODB": self.proxy.url}
        return {"store": f"dynamodb://{self.table.table}", "environment": environment, **LIMITED}


@pytest.fixture
async def site(dynamodb_local: str, aws_environment: dict[str, str]) -> AsyncIterator[Site]:
    table = await new_table(dynamodb_local, time.time, with_ttl=True)
    with ThrottlingFront(dynamodb_local) as front, FaultProxy(front.url) as proxy:
        front.throttling = False
        yield Site(table, front, proxy)
    await table.aclose()


def throttle(site: Site) -> None:
    site.front.throttling = True


FAULTS: dict[str, Callable[[Site], None]] = {
    "down": lambda site: site.proxy.set(down=True),
    "slow": lambda site: site.proxy.set(latency=2.0),
    "black hole": lambda site: site.proxy.set(black_hole=True),
    "throttling": throttle,
}


@pytest.fixture(params=FAULTS)
def fault(request: pytest.FixtureRequest) -> Callable[[Site], None]:
    return FAULTS[request.param]


async def first_chunks(running: Stage, count: int) -> list[float]:
    """Seconds to the first chunk of so many chats, one after another, all of them complete."""
    times = []
    for _ in range(count):
        answer = await running.ask()
        assert answer.complete, answer
        times.append(answer.events[0][0])
    return times


async def test_chats_go_on_and_one_waits_at_most_300_ms(
    staged: Staged, site: Site, fault: Callable[[Site], None]
) -> None:
    running = staged(2, **site.settings)
    await first_chunks(running, 3)
    usual = statistics.median(await first_chunks(running, 5))
    await asyncio.sleep(2.1)  # the view of the cooldowns is read again
    fault(site)
    struck, *others = await first_chunks(running, 8)
    assert struck - usual < DELAY
    # Nobody else waits for the store at all; the median, as the machine may be busy.
    assert statistics.median(others) - usual < 0.1
    assert "store degraded" in running.service.stderr


async def test_a_key_cools_here_without_a_store_and_there_when_it_is_back(
    staged: Staged, site: Site, fault: Callable[[Site], None]
) -> None:
    """D2."""
    running = staged(2, **site.settings)
    failing, good = running.keys
    await first_chunks(running, 1)
    fault(site)
    running.script(b.status(429), key=failing)
    await first_chunks(running, 4)
    assert running.upstream.keys().count(failing) <= 2, "tried again while it cools"
    assert running.upstream.keys().count(good) >= 4
    site.proxy.set()
    site.front.throttling = False
    async with asyncio.timeout(20):
        while True:
            if fingerprint(failing) in await site.table.cooldowns():
                break
            await asyncio.sleep(0.1)


async def test_instances_share_their_cooldowns(staged: Staged, site: Site) -> None:
    """C15, D3: what one instance learned from a 429, the other knows two seconds later."""
    one = staged(2, **site.settings)
    other = staged(2, upstream=one.upstream, **site.settings)
    failing, good = one.keys
    await first_chunks(other, 1)
    one.script(b.status(429), key=failing)
    await first_chunks(one, 2)
    await asyncio.sleep(2.1)
    before = len(one.upstream.journal)
    await first_chunks(other, 3)
    assert one.upstream.keys()[before:] == [good] * 3
    assert set(await site.table.cooldowns()) == {fingerprint(failing)}


async def test_a_budget_is_closed_or_local_without_its_store(staged: Staged, site: Site) -> None:
    """T33: the documented choice. Nothing is asked upstream that might not be paid for."""
    budget = {**site.settings, "daily_tokens": 1_000_000}
    closed = staged(1, **budget)
    local = staged(1, **budget, budget_without_store="local")
    await first_chunks(closed, 1)
    await first_chunks(local, 1)
    site.proxy.set(down=True)
    asked = len(closed.upstream.journal)
    for _ in range(3):
        answer = await closed.ask()
        assert (answer.status, answer.error["code"]) == (503, "upstream_service_unavailable")
        assert answer.head_at < DELAY
    assert len(closed.upstream.journal) == asked
    await first_chunks(local, 3)


async def test_the_first_chat_after_a_cold_start_is_answered(staged: Staged, site: Site) -> None:
    """boto3 is still loading then; a closed budget waits for it."""
    running = staged(1, **{**site.settings, "daily_tokens": 1_000_000})
    await first_chunks(running, 3)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kefu.sqlite3"


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


async def test_a_locked_sqlite_file_does_not_stop_chats(staged: Staged, file: Path) -> None:
    """D11."""
    running = staged(2, store=f"sqlite:///{file}", **LIMITED)
    failing, _ = running.keys
    usual = statistics.median(await first_chunks(running, 5))
    with locked(file):
        running.script(b.status(503), key=failing)
        struck, *others = await first_chunks(running, 6)
        assert struck - usual < DELAY
        assert statistics.median(others) - usual < 0.1
        assert running.upstream.keys()[5:].count(failing) <= 1
    async with asyncio.timeout(15):
        while True:
            if await asyncio.to_thread(_cooled, file):
                break
            await asyncio.sleep(0.1)
    await first_chunks(running, 1)
    assert running.service.stop() == 0
    with contextlib.closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def _cooled(file: Path) -> list[object]:
    with contextlib.closing(sqlite3.connect(file)) as db:
        return db.execute("SELECT key FROM cooldowns").fetchall()


async def test_a_broken_sqlite_file_does_not_stop_chats(staged: Staged, file: Path) -> None:
    """D11: what is in it is somebody's to look at, so it is left alone."""
    await asyncio.to_thread(file.write_text, "this is no database " * 200)
    running = staged(2, store=f"sqlite:///{file}", **LIMITED)
    await first_chunks(running, 3)
    assert "file is not a database" in running.service.stderr
    assert (await asyncio.to_thread(file.read_text)).startswith("this is no database")
