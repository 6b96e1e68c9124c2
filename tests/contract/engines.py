"""Opens the stores that the contract tests run on."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import pytest

from kefu.chat.limits import LimitStore
from kefu.relay.key_pool import Cooldowns, CooldownStore
from kefu.sessions.store.model import Retention
from kefu.sessions.store.ports import Sessions
from kefu.stores.dynamodb.items import delete_partition
from kefu.stores.dynamodb.store import DynamoStore
from kefu.stores.dynamodb.table import MAX_THREADS
from kefu.stores.memory import MemoryStore
from kefu.stores.sqlite.file import SqliteFile
from kefu.stores.sqlite.store import SqliteStore
from tests.fakes.migrated import migrated_file

if TYPE_CHECKING:
    import boto3
    from mypy_boto3_dynamodb import DynamoDBClient

    from kefu.stores.postgresql.database import PostgresDatabase
    from tests.parts.postgresql import Postgres


class HandClock:
    """Unix time that moves only when a test changes it.

    It starts in the year 2096, because DynamoDB Local deletes expired items by the real clock.
    """

    def __init__(self) -> None:
        self.now = 4_000_000_000.123

    def __call__(self) -> float:
        return self.now


class ClockByHand:
    """The clock of a service, whose time is that of `hand`."""

    def __init__(self) -> None:
        self.hand = HandClock()

    def now(self) -> float:
        return self.hand.now

    def monotonic(self) -> float:
        return self.hand.now


async def settled(file: SqliteFile | PostgresDatabase) -> None:
    """Wait until no clean-up of a database is running."""
    while (upkeep := file._upkeep) and not upkeep.done():
        await asyncio.wrap_future(upkeep)


class Store(CooldownStore, LimitStore, Protocol):
    """The interface of every engine: cooldowns, limits, and its session store."""

    def sessions(self, retention: Retention) -> Sessions: ...

    async def aclose(self) -> None: ...


ENGINES = ("sqlite", "postgresql", "dynamodb_local", "dynalite")

Part = Callable[[str], object]
"""Starts a part by the name of its fixture, if a test needs it: `request.getfixturevalue`."""


@asynccontextmanager
async def opened(
    engine: str, clock: Callable[[], float], part: Part, folder: Path
) -> AsyncIterator[Store]:
    """An empty store of this engine."""
    store: Store
    if engine == "memory":
        store = MemoryStore(clock)
    elif engine == "sqlite":
        store = SqliteStore(migrated_file(folder / "kefu.sqlite3"), clock)
    elif engine == "postgresql":
        # Not at the top: child processes of the SQLite tests import this module.
        from kefu.stores.postgresql.store import PostgresStore

        store = PostgresStore(cast("Postgres", part(engine)).new_schema(), clock)
    else:
        store = await new_table(cast(str, part(engine)), clock, with_ttl=engine != "dynalite")
    try:
        yield store
    finally:
        await store.aclose()


class SharedTable:
    """One table for many consecutive tests, because a new table and its client take time."""

    def __init__(self) -> None:
        self._clock: Callable[[], float] = HandClock()
        self._store: DynamoStore | None = None

    def now(self) -> float:
        return self._clock()

    @asynccontextmanager
    async def lent(self, endpoint: str, clock: Callable[[], float]) -> AsyncIterator[DynamoStore]:
        """The emptied table, with the clock of the test that uses it."""
        self._clock = clock
        if self._store is None:
            self._store = await new_table(endpoint, self.now, with_ttl=False)
        yield self._store
        table = self._store._table
        for pk in await table.run(lambda: partitions(table.client, table.name)):
            await table.run(partial(delete_partition, table, pk=pk))

    def close(self) -> None:
        if self._store is not None:
            asyncio.run(self._store.aclose())


def every_item(client: DynamoDBClient, table: str) -> list[dict[str, Any]]:
    pages = client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return [dict(item) for page in pages for item in page["Items"]]


def partitions(client: DynamoDBClient, table: str) -> set[str]:
    return {item["pk"]["S"] for item in every_item(client, table)}


def patient(store: DynamoStore) -> DynamoStore:
    """The store with time limits of half a minute, for tests of anything but time limits.

    Otherwise a call that takes a second on a busy machine is sent again, and counts twice.
    """
    from botocore.config import Config

    table = store._table
    if table._client is not None:
        table._client.close()
    config = Config(
        connect_timeout=30,
        read_timeout=30,
        retries={"mode": "standard", "total_max_attempts": 1},
        max_pool_connections=MAX_THREADS,
    )
    table._client = _session().client("dynamodb", endpoint_url=table._endpoint, config=config)
    return store


@cache
def _session() -> boto3.Session:
    """One for all stores, because each session reads the description of DynamoDB again."""
    # Not at the top, because the children of the SQLite tests import this module.
    import boto3

    return boto3.Session()


def create_table(client: DynamoDBClient, name: str, *, with_ttl: bool) -> None:
    """Create the table as the SAM template does, and wait until it is active."""
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
        ],
        KeySchema=[
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
    )
    client.get_waiter("table_exists").wait(
        TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 60}
    )
    if with_ttl:
        client.update_time_to_live(
            TableName=name,
            TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"},
        )


async def new_table(endpoint: str, clock: Callable[[], float], *, with_ttl: bool) -> DynamoStore:
    """`with_ttl=False` is for engines without TTL, such as dynalite."""
    store = patient(DynamoStore(f"kefu-{uuid.uuid4().hex}", clock, endpoint=endpoint))
    name = store.table
    await store._table.run(lambda: create_table(store._table.client, name, with_ttl=with_ttl))
    return store


@pytest.fixture
async def table(dynamodb_local: str, aws_environment: dict[str, str]) -> AsyncIterator[DynamoStore]:
    """A new table in DynamoDB Local; `conftest.py` files import this fixture."""
    table = await new_table(dynamodb_local, time.time, with_ttl=True)
    yield table
    await table.aclose()


async def knows(store: CooldownStore, cooldowns: Cooldowns) -> None:
    """Wait until a store has exactly these cooldowns.

    DynamoDB's reads are eventually consistent. DynamoDB Local's are, too: about one run in a
    hundred reads an old value on a busy machine.
    """
    for _ in range(100):
        if await store.cooldowns() == cooldowns:
            return
        await asyncio.sleep(0.05)
    assert await store.cooldowns() == cooldowns
