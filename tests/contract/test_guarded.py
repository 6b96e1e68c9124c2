"""The requests that guards add while the store works."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from kefu.chat.limits import Granted
from kefu.errors import StoreUnavailable
from kefu.relay.key_pool import Cooldown, Cooldowns, Reason, fingerprint
from kefu.stores.guarded.circuit import Circuit
from kefu.stores.guarded.cooldowns import GuardedCooldowns
from kefu.stores.guarded.limits import GuardedLimits
from kefu.stores.memory import MemoryStore
from tests.contract.engines import HandClock

ONE = fingerprint("key-one")


class SlowStore(MemoryStore):
    """A store that counts its reads, and answers them when the test says so."""

    def __init__(self, clock: HandClock) -> None:
        super().__init__(clock)
        self.reads = 0
        self.answering = asyncio.Event()

    async def cooldowns(self) -> Cooldowns:
        self.reads += 1
        await self.answering.wait()
        return await super().cooldowns()


@pytest.fixture
async def slow(clock: HandClock) -> SlowStore:
    return SlowStore(clock)


@pytest.fixture
async def guarded(slow: SlowStore, clock: HandClock) -> AsyncIterator[GuardedCooldowns]:
    guarded = GuardedCooldowns(slow, clock, timeout=5, on_degraded=pytest.fail)
    yield guarded
    await guarded.circuit.aclose()


async def test_concurrent_callers_share_one_read(
    slow: SlowStore, guarded: GuardedCooldowns
) -> None:
    waiting = [asyncio.create_task(guarded.cooldowns()) for _ in range(50)]
    await asyncio.sleep(0)
    # A caller that is cancelled does not cancel the read for the others.
    waiting[0].cancel()
    slow.answering.set()
    assert await asyncio.gather(*waiting[1:]) == [{}] * 49
    assert slow.reads == 1


async def test_a_view_is_read_again_after_two_seconds(
    slow: SlowStore, guarded: GuardedCooldowns, clock: HandClock
) -> None:
    slow.answering.set()
    for now in (0.0, 1.9, 2.0, 3.9, 4.1):
        clock.now = 4_000_000_000.0 + now
        await guarded.cooldowns()
    assert slow.reads == 3


async def test_a_clock_that_goes_back_does_not_make_a_view_fresh_for_ever(
    slow: SlowStore, guarded: GuardedCooldowns, clock: HandClock
) -> None:
    """L8: with a clock that was set back, a cached value would never expire."""
    slow.answering.set()
    await guarded.cooldowns()
    clock.now -= 3600
    await guarded.cooldowns()
    await guarded.cooldowns()
    assert slow.reads == 2


async def test_a_fresh_view_costs_no_read_and_no_task(
    slow: SlowStore, guarded: GuardedCooldowns
) -> None:
    slow.answering.set()
    await guarded.cooldowns()
    tasks = asyncio.all_tasks()
    for _ in range(100):
        await guarded.cooldowns()
    assert slow.reads == 1
    assert asyncio.all_tasks() == tasks


async def test_an_own_cooldown_is_seen_while_the_store_still_writes(
    clock: HandClock, slow: SlowStore
) -> None:
    class SlowWriter(SlowStore):
        async def cool(self, key: str, cooldown: Cooldown) -> Cooldowns:
            await self.answering.wait()
            return await super().cool(fingerprint("key-one"), cooldown)

    store = SlowWriter(clock)
    degraded: list[str] = []
    guarded = GuardedCooldowns(store, clock, timeout=0.05, on_degraded=degraded.append)
    early = Cooldown(clock.now + 60, Reason.FAILING)
    late = Cooldown(clock.now + 90, Reason.RATE_LIMITED)
    assert await guarded.cool(ONE, early) == {ONE: early}
    assert await guarded.cool(ONE, late) == {ONE: late}
    assert degraded == ["writing a cooldown: no answer in 0.05 s"] * 2
    store.answering.set()
    await guarded.circuit.aclose()
    assert await store.cooldowns() == {ONE: late}


@pytest.mark.slow
async def test_a_closed_budget_waits_for_a_store_that_is_still_loading(
    clock: HandClock,
) -> None:
    """On a cold start the store's first answer is late, which is no outage."""

    class Loading(MemoryStore):
        async def reserve(self, budget: str, amount: int, limit: int) -> Granted | None:
            await asyncio.sleep(2.0)
            return await super().reserve(budget, amount, limit)

    store = Loading(clock)
    circuit = Circuit(store.cooldowns, timeout=0.05, on_degraded=lambda _: None)
    limits = GuardedLimits(store, MemoryStore(clock), circuit)
    assert await limits.reserve("day", 1, 10)
    with pytest.raises(StoreUnavailable):
        await limits.reserve("next day", 1, 10)
    await limits.circuit.aclose()


def test_importing_the_dynamodb_store_does_not_load_boto3() -> None:
    """Decision 5: boto3 is imported in a thread, so that a cold start does not wait for it."""
    program = (
        "import sys, kefu.stores.dynamodb.store; print([m for m in sys.modules if 'boto' in m])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert found.stdout == b"[]\n"
