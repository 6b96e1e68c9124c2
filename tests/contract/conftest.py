"""A store for each engine, bare and guarded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kefu.keypool import CooldownStore
from kefu.limits import LimitStore
from kefu.sessions import Retention, Sessions
from kefu.stores.guarded import GuardedCooldowns, GuardedLimits
from kefu.stores.guarded_sessions import GuardedSessions
from kefu.stores.memory import MemoryStore
from tests.contract.engines import ENGINES, HandClock, Store, opened, opened_sessions


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


GUARDED = ("guarded memory", "guarded sqlite", "guarded dynamodb_local")


@pytest.fixture(params=[*ENGINES, *GUARDED])
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
    await guarded.aclose()


@pytest.fixture
async def limit_store(kind: str, store: Store, clock: HandClock) -> AsyncIterator[LimitStore]:
    if not kind.startswith("guarded"):
        yield store
        return
    local = MemoryStore(clock)
    guarded = GuardedLimits(store, local, timeout=5, on_degraded=pytest.fail)
    yield guarded
    await guarded.aclose()


@pytest.fixture(params=[*ENGINES, "guarded sqlite"])
async def sessions(
    request: pytest.FixtureRequest,
    clock: HandClock,
    tmp_path: Path,
    aws_environment: dict[str, str],
) -> AsyncIterator[Sessions]:
    """Chats are kept for 30 days, raw data for 7."""
    engine = request.param.removeprefix("guarded ")
    part = request.getfixturevalue
    async with opened_sessions(engine, clock, part, tmp_path, Retention()) as store:
        if engine == request.param:
            yield store
            return
        guarded = GuardedSessions(store, timeout=5, on_degraded=pytest.fail)
        yield guarded
        await guarded.aclose()
