"""The stores that the contract tests run on, opened alike."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kefu.keypool import Cooldowns, CooldownStore
from kefu.lean_typing import Protocol
from kefu.limits import LimitStore
from kefu.sessions import Retention, Sessions
from kefu.stores.dynamodb import DynamoStore
from kefu.stores.dynamodb_items import delete_partition
from kefu.stores.memory import MemoryStore
from kefu.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class HandClock:
    """Unix time that moves only when it is told to.

    It starts in the year 2096: DynamoDB Local deletes what has expired by the real clock.
    """

    def __init__(self) -> None:
        self.now = 4_000_000_000.123

    def __call__(self) -> float:
        return self.now


class Store(CooldownStore, LimitStore, Protocol):
    """What every engine is: both ports, and a way to keep chats."""

    def sessions(self, retention: Retention) -> Sessions: ...

    async def aclose(self) -> None: ...


ENGINES = ("memory", "sqlite", "dynamodb_local", "dynalite")

Part = Callable[[str], object]
"""Starts a part by the name of its fixture, if a test needs it: `request.getfixturevalue`."""


@asynccontextmanager
async def opened(
    engine: str, clock: Callable[[], float], part: Part, folder: Path
) -> AsyncIterator[Store]:
    """An empty store."""
    store: Store
    if engine == "memory":
        store = MemoryStore(clock)
    elif engine == "sqlite":
        store = SqliteStore(folder / "kefu.sqlite3", clock)
    else:
        store = await new_table(cast(str, part(engine)), clock, with_ttl=engine != "dynalite")
    try:
        yield store
    finally:
        await store.aclose()


class SharedTable:
    """One table for many tests, one after another: a new one and its client take a while."""

    def __init__(self) -> None:
        self._clock: Callable[[], float] = HandClock()
        self._store: DynamoStore | None = None

    def now(self) -> float:
        return self._clock()

    @asynccontextmanager
    async def lent(self, endpoint: str, clock: Callable[[], float]) -> AsyncIterator[DynamoStore]:
        """An empty one, by the borrower's clock."""
        self._clock = clock
        if self._store is None:
            self._store = await new_table(endpoint, self.now, with_ttl=False)
        yield self._store
        table = self._store._table
        for pk in await table.run(lambda client: partitions(client, table.name)):
            await table.run(partial(delete_partition, table, pk=pk))

    def close(self) -> None:
        if self._store is not None:
            asyncio.run(self._store.aclose())


def every_item(client: DynamoDBClient, table: str) -> list[dict[str, Any]]:
    pages = client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return [dict(item) for page in pages for item in page["Items"]]


def partitions(client: DynamoDBClient, table: str) -> set[str]:
    return {item["pk"]["S"] for item in every_item(client, table)}


async def new_table(endpoint: str, clock: Callable[[], float], *, with_ttl: bool) -> DynamoStore:
    store = DynamoStore(f"kefu-{uuid.uuid4().hex}", clock, endpoint=endpoint)
    await store.create_table(with_ttl=with_ttl)
    return store


async def knows(store: CooldownStore, cooldowns: Cooldowns) -> None:
    """Wait until a store has exactly these cooldowns.

    DynamoDB's reads are eventually consistent, those of DynamoDB Local, too: seen once in a
    hundred runs on a busy machine.
    """
    for _ in range(100):
        if await store.cooldowns() == cooldowns:
            return
        await asyncio.sleep(0.05)
    assert await store.cooldowns() == cooldowns
