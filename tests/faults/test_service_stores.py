"""Faults of the store, as a client of the service sees them (D1, D2, D3, D8, D11, T33)."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kefu.relay.key_pool import fingerprint
from kefu.stores.dynamodb.store import DynamoStore
from tests.contract.engines import new_table
from tests.fakes import behaviours as b
from tests.fakes.fault_proxy import FaultProxy
from tests.fakes.fixtures import Staged
from tests.fakes.stage import UNHURRIED, Stage
from tests.fakes.throttling_front import ThrottlingFront
from tests.parts.plugin import CREDENTIALS, daily

LIMITED: dict[str, Any] = {"ip_requests_per_minute": 1000, "site_requests_per_minute": 1000}
"""Far from being reached: the store is asked, that is all."""
CALLS = 3
"""Calls of the store that one chat waits for: two limits, and the cooldowns."""


class Site:
    """A DynamoDB table behind simulated network faults and throttling, and the service's
    settings.
    """

    def __init__(self, table: DynamoStore, front: ThrottlingFront, proxy: FaultProxy) -> None:
        self.table = table
        self.front = front
        self.proxy = proxy

    @property
    def settings(self) -> dict[str, Any]:
        environment = {**CREDENTIALS, "AWS_ENDPOINT_URL_DYNAMODB": self.proxy.url}
        return {"store": f"dynamodb://{self.table.table}", "environment": environment, **LIMITED}


@pytest.fixture
async def site(dynamodb_endpoint: str, aws_environment: dict[str, str]) -> AsyncIterator[Site]:
    table = await new_table(dynamodb_endpoint, time.time, with_ttl=False)
    with ThrottlingFront(dynamodb_endpoint) as front, FaultProxy(front.url) as proxy:
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


@pytest.fixture(params=daily(FAULTS, "down"))
def fault(request: pytest.FixtureRequest) -> Callable[[Site], None]:
    return FAULTS[request.param]


async def chats(running: Stage, count: int) -> None:
    """So many chats, one after another, all of them complete."""
    for _ in range(count):
        answer = await running.ask()
        assert answer.complete, answer


def given_up(running: Stage) -> list[str]:
    """The log lines of failed calls of the store that requests made."""
    lines = [line for line in running.service.stderr.split("\n") if "store degraded: " in line]
    return [line for line in lines if "degraded: still " not in line]


@pytest.mark.slow
async def test_chats_go_on_and_one_waits_for_at_most_three_calls(
    staged: Staged, site: Site, fault: Callable[[Site], None]
) -> None:
    """D8: three calls of 0.1 s are the 300 ms. tests/unit/stores tests the seconds."""
    running = staged(2, **site.settings)
    await chats(running, 3)
    await asyncio.sleep(2.1)  # the view of the cooldowns is read again
    before = len(given_up(running))
    fault(site)
    await chats(running, 1)
    struck = given_up(running)[before:]
    assert sum("no answer in 0.1 s" in line for line in struck) <= CALLS
    # Calls that overlap count as one failure, and the site's limit is leased: the third failure may
    # be in the third chat.
    await chats(running, 2)
    before = len(given_up(running))
    await chats(running, 4)  # a lease has ten places, and a slow machine may use it from the start
    assert len(given_up(running)) == before, "others waited for the store"
    assert "store degraded" in running.service.stderr


@pytest.mark.slow
async def test_a_key_cools_here_without_a_store_and_there_when_it_is_back(
    staged: Staged, site: Site, fault: Callable[[Site], None]
) -> None:
    """Fault D2."""
    running = staged(2, **site.settings)
    failing, good = running.keys
    await chats(running, 1)
    fault(site)
    running.script(b.status(429), key=failing)
    await chats(running, 4)
    assert running.upstream.keys().count(failing) <= 2, "tried again while it cools"
    assert running.upstream.keys().count(good) >= 4
    site.proxy.set()
    site.front.throttling = False
    async with asyncio.timeout(20):
        while True:
            if fingerprint(failing) in await site.table.cooldowns():
                break
            await asyncio.sleep(0.1)


@pytest.mark.slow
async def test_instances_share_their_cooldowns(staged: Staged, site: Site) -> None:
    """C15, D3: a cooldown after a 429 reaches the other instance within two seconds."""
    one = staged(2, **site.settings, **UNHURRIED)
    other = staged(2, upstream=one.upstream, **site.settings, **UNHURRIED)
    failing, good = one.keys
    await chats(other, 1)
    one.script(b.status(429), key=failing)
    await chats(one, 2)
    await asyncio.sleep(2.1)
    before = len(one.upstream.journal)
    await chats(other, 3)
    assert one.upstream.keys()[before:] == [good] * 3
    assert set(await site.table.cooldowns()) == {fingerprint(failing)}


async def refused(running: Stage) -> None:
    answer = await running.ask()
    assert (answer.status, answer.error["code"]) == (503, "upstream_service_unavailable")


async def test_a_budget_is_closed_without_its_store(staged: Staged, site: Site) -> None:
    """T33: nothing is asked upstream that might not be paid for.

    A process that knows the rest of the budget continues within it.
    """
    budget = {**site.settings, "daily_tokens": 1_000_000}
    known = staged(1, **budget)
    await chats(known, 1)
    site.proxy.set(down=True)
    await chats(known, 3)
    closed = staged(1, **budget)
    for _ in range(2):
        await refused(closed)
    before = len(given_up(closed))
    await refused(closed)
    assert len(given_up(closed)) == before, "only the first ones wait"
    assert closed.upstream.journal == []


async def test_the_first_chat_after_a_cold_start_is_answered(staged: Staged, site: Site) -> None:
    """boto3 is still being imported then, and a closed budget waits for it."""
    running = staged(1, **{**site.settings, "daily_tokens": 1_000_000})
    await chats(running, 3)


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
    """Fault D11."""
    running = staged(2, store=f"sqlite:///{file}", **LIMITED)
    failing, _ = running.keys
    await chats(running, 5)
    with locked(file):
        running.script(b.status(503), key=failing)
        before = len(given_up(running))
        await chats(running, 1)
        # One more than otherwise: the key that fails is written, too.
        assert len(given_up(running)) - before <= CALLS + 1
        await chats(running, 1)
        before = len(given_up(running))
        await chats(running, 4)
        assert len(given_up(running)) == before, "others waited for the store"
        assert running.upstream.keys()[5:].count(failing) <= 1
    async with asyncio.timeout(15):
        while True:
            if await asyncio.to_thread(_cooled, file):
                break
            await asyncio.sleep(0.1)
    await chats(running, 1)
    assert running.service.stop() == 0
    with contextlib.closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def _cooled(file: Path) -> list[object]:
    with contextlib.closing(sqlite3.connect(file)) as db:
        return db.execute("SELECT key FROM cooldowns").fetchall()


async def test_a_broken_sqlite_file_does_not_stop_chats(staged: Staged, file: Path) -> None:
    """D11: the file is not changed, so that the operator can inspect it."""
    await asyncio.to_thread(file.write_text, "this is no database " * 200)
    running = staged(2, store=f"sqlite:///{file}", **LIMITED)
    await chats(running, 3)
    assert "file is not a database" in running.service.stderr
    assert (await asyncio.to_thread(file.read_text)).startswith("this is no database")
