"""A store for each engine, with and without guards."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from kefu.chat.limits import LimitStore
from kefu.relay.key_pool import CooldownStore
from kefu.sessions.store.model import Retention
from kefu.sessions.store.ports import Sessions
from kefu.stores.guarded.circuit import Circuit
from kefu.stores.guarded.cooldowns import GuardedCooldowns
from kefu.stores.guarded.limits import GuardedLimits
from kefu.stores.guarded.sessions import GuardedSessions
from kefu.stores.memory import MemoryStore
from tests.contract.engines import ENGINES, HandClock, SharedTable, Store, opened
from tests.parts.plugin import each


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


GUARDED = ("guarded memory", "guarded sqlite", "guarded postgresql", "guarded dynamodb_local")


@pytest.fixture(params=each("memory", *ENGINES, *GUARDED))
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
async def store(
    kind: str,
    clock: HandClock,
    tmp_path: Path,
    aws_environment: dict[str, str],
    request: pytest.FixtureRequest,
) -> AsyncIterator[Store]:
    engine = kind.removeprefix("guarded ")
    async with opened(engine, clock, request.getfixturevalue, tmp_path) as store:
        yield store


@pytest.fixture
async def cooldown_store(kind: str, store: Store, clock: HandClock) -> AsyncIterator[CooldownStore]:
    if not kind.startswith("guarded"):
        yield store
        return
    guarded = GuardedCooldowns(store, clock, timeout=5, on_degraded=pytest.fail)
    yield guarded
    await guarded.circuit.aclose()


@pytest.fixture
async def limit_store(kind: str, store: Store, clock: HandClock) -> AsyncIterator[LimitStore]:
    if not kind.startswith("guarded"):
        yield store
        return
    circuit = Circuit(store.cooldowns, timeout=5, on_degraded=pytest.fail)
    guarded = GuardedLimits(store, MemoryStore(clock), circuit)
    yield guarded
    await guarded.circuit.aclose()


@pytest.fixture(scope="session")
def shared_tables() -> Iterator[dict[str, SharedTable]]:
    tables = {"dynamodb_local": SharedTable(), "dynalite": SharedTable()}
    yield tables
    for table in tables.values():
        table.close()


@pytest.fixture(params=each(*ENGINES, "guarded sqlite"))
async def sessions(
    request: pytest.FixtureRequest,
    clock: HandClock,
    tmp_path: Path,
    aws_environment: dict[str, str],
    shared_tables: dict[str, SharedTable],
) -> AsyncIterator[Sessions]:
    """A session store that keeps chats for 30 days and raw data for 7."""
    kind: str = request.param
    if kind in shared_tables:
        endpoint = request.getfixturevalue(kind)
        async with shared_tables[kind].lent(endpoint, clock) as table:
            yield table.sessions(Retention())
        return
    async with opened(
        kind.removeprefix("guarded "), clock, request.getfixturevalue, tmp_path
    ) as store:
        chats = store.sessions(Retention())
        if not kind.startswith("guarded"):
            yield chats
            return
        guarded = GuardedSessions(chats, timeout=5, on_degraded=pytest.fail)
        yield guarded
        await guarded.circuit.aclose()
