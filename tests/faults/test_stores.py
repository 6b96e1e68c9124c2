"""Faults of DynamoDB, made on the wire: a chat goes on, and waits once (D1, D2, D3, D8, T33)."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

import pytest

from kefu.errors import StoreUnavailable
from kefu.keypool import Cooldown, Reason, fingerprint
from kefu.limits import Rate
from kefu.stores.dynamodb import DynamoStore
from kefu.stores.guarded import GuardedCooldowns, GuardedLimits
from kefu.stores.memory import MemoryStore
from tests.contract.engines import knows
from tests.fakes.fault_proxy import FaultProxy
from tests.fakes.throttling_front import ThrottlingFront

ONE, TWO = fingerprint("key-one"), fingerprint("key-two")
RATE = Rate(3, 86400.0)
AT_MOST = 0.3
"""Seconds a request may be longer for a store that is in trouble."""
AT_ONCE = 0.1
"""Seconds within which no store was waited for, on a machine that is busy."""


def resting(seconds: float = 60.0) -> Cooldown:
    return Cooldown(time.time() + seconds, Reason.RATE_LIMITED)


@dataclass
class Site:
    """One instance of the service, as far as its stores go, behind a network that may fail."""

    proxy: FaultProxy
    store: DynamoStore
    direct: DynamoStore
    """The same table without the network's faults: what other instances see."""
    cooldowns: GuardedCooldowns
    limits: GuardedLimits
    degraded: list[str] = field(default_factory=list)

    async def back(self) -> None:
        """Wait until the circuit has closed again."""

        async def closed() -> bool:
            return not self.cooldowns.circuit.open

        await eventually(closed)


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(15):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def site_on(
    table: DynamoStore,
    proxy: FaultProxy,
    budget_without_store: Literal["closed", "local"] = "closed",
) -> AsyncIterator[Site]:
    degraded: list[str] = []
    store = DynamoStore(table.table, time.time, endpoint=proxy.url)
    await store.cooldowns()  # boto3 is there, a connection is open
    cooldowns = GuardedCooldowns(
        store, time.time, cache_for=0.1, on_degraded=degraded.append, pause=0.25
    )
    limits = GuardedLimits(
        store,
        MemoryStore(time.time),
        on_degraded=degraded.append,
        budget_without_store=budget_without_store,
        circuit=cooldowns.circuit,
    )
    yield Site(proxy, store, table, cooldowns, limits, degraded)
    await limits.aclose()
    await cooldowns.aclose()
    await store.aclose()


@pytest.fixture
async def site(
    table: DynamoStore, proxy: FaultProxy, caplog: pytest.LogCaptureFixture
) -> AsyncIterator[Site]:
    async with site_on(table, proxy) as site:
        yield site
    gc.collect()
    words = [r.getMessage() for r in caplog.records if r.name == "asyncio"]
    assert not words, "a background task failed and nobody looked"
    assert logging.getLogger("asyncio").isEnabledFor(logging.ERROR)


async def seconds(work: Awaitable[object]) -> float:
    started = time.monotonic()
    await work
    return time.monotonic() - started


FAULTS: dict[str, Callable[[FaultProxy], None]] = {
    "down": lambda proxy: proxy.set(down=True),
    "black hole": lambda proxy: proxy.set(black_hole=True),
    "slow": lambda proxy: proxy.set(latency=2.0),
    "reset": lambda proxy: proxy.set(reset_after=20),
    "trickle": lambda proxy: proxy.set(bandwidth=50),
}


@pytest.fixture(params=FAULTS)
def fault(request: pytest.FixtureRequest) -> Callable[[FaultProxy], None]:
    return FAULTS[request.param]


async def stale(site: Site) -> None:
    """Let the cached view grow too old."""
    await asyncio.sleep(0.12)


async def test_reads_go_on_with_what_was_known(
    site: Site, fault: Callable[[FaultProxy], None]
) -> None:
    """D1, D8: one request waits, at most 300 ms; the others not at all."""
    other = resting()
    await site.direct.cool(ONE, other)
    await knows(site.cooldowns, {ONE: other})
    fault(site.proxy)
    await stale(site)
    assert await seconds(site.cooldowns.cooldowns()) < AT_MOST
    assert site.degraded
    for _ in range(5):
        await stale(site)
        assert await seconds(site.cooldowns.cooldowns()) < AT_ONCE
    assert await site.cooldowns.cooldowns() == {ONE: other}


async def test_a_cooldown_that_cannot_be_written_holds_here_and_is_written_later(
    site: Site, fault: Callable[[FaultProxy], None]
) -> None:
    """D2."""
    fault(site.proxy)
    mine = resting()
    assert await seconds(site.cooldowns.cool(ONE, mine)) < AT_MOST
    assert (await site.cooldowns.cooldowns())[ONE] == mine
    assert await seconds(site.cooldowns.cool(TWO, mine)) < AT_ONCE
    assert await site.cooldowns.cooldowns() == {ONE: mine, TWO: mine}
    site.proxy.set()
    await site.back()
    await knows(site.direct, {ONE: mine, TWO: mine})


async def test_rate_limits_go_on_in_memory(site: Site, fault: Callable[[FaultProxy], None]) -> None:
    """T33: losing the store gives no visitor a new burst, and takes none away."""
    assert await site.limits.take("visitor", RATE) == 0
    fault(site.proxy)
    assert await seconds(site.limits.take("visitor", RATE)) < AT_MOST
    assert await seconds(site.limits.take("visitor", RATE)) < AT_ONCE
    assert await site.limits.take("visitor", RATE) > 0
    assert await site.limits.take("other visitor", RATE) == 0


async def test_a_closed_budget_refuses_without_its_store(
    site: Site, fault: Callable[[FaultProxy], None]
) -> None:
    """T33."""
    assert await site.limits.reserve("day", 1, 1000)
    fault(site.proxy)
    started = time.monotonic()
    with pytest.raises(StoreUnavailable):
        await site.limits.reserve("day", 1, 1000)
    assert time.monotonic() - started < AT_MOST
    started = time.monotonic()
    with pytest.raises(StoreUnavailable):
        await site.limits.reserve("day", 1, 1000)
    assert time.monotonic() - started < AT_ONCE
    site.proxy.set()
    await site.back()
    assert await site.limits.reserve("day", 1, 1000)


async def test_what_was_really_used_is_told_when_the_store_is_back(
    site: Site, fault: Callable[[FaultProxy], None]
) -> None:
    assert await site.limits.reserve("day", 1000, 1000)
    fault(site.proxy)
    await site.cooldowns.cooldowns()
    assert site.cooldowns.circuit.open
    assert await seconds(site.limits.settle("day", -400)) < AT_ONCE
    assert await seconds(site.limits.settle("day", -100)) < AT_ONCE
    site.proxy.set()
    await site.back()
    await eventually(lambda: site.direct.reserve("day", 500, 1000))
    assert not await site.direct.reserve("day", 1, 1000)


async def test_nothing_is_given_back_twice(site: Site, fault: Callable[[FaultProxy], None]) -> None:
    """The fault strikes while giving back: it may be lost, it may not be done again."""
    assert await site.limits.reserve("day", 1000, 1000)
    fault(site.proxy)
    assert await seconds(site.limits.settle("day", -400)) < AT_MOST
    site.proxy.set()
    await site.back()
    await site.limits.settle("day", -100)
    await eventually(lambda: site.direct.reserve("day", 100, 1000))
    await asyncio.sleep(1)  # for what may still be under way
    assert not await site.direct.reserve("day", 401, 1000)


async def test_a_local_budget_counts_here_and_is_told_when_the_store_is_back(
    table: DynamoStore, proxy: FaultProxy
) -> None:
    async with site_on(table, proxy, "local") as site:
        assert await site.limits.reserve("day", 300, 1000)
        proxy.set(down=True)
        assert await site.limits.reserve("day", 600, 1000)
        assert not await site.limits.reserve("day", 101, 1000)
        await site.limits.settle("day", -100)
        assert await site.limits.reserve("day", 200, 1000)
        proxy.set()
        await site.back()

        async def full() -> bool:
            if await table.reserve("day", 1, 1000):
                await table.settle("day", -1)
                return False
            return True

        await eventually(full)


async def test_one_request_waits_once_for_reading_limiting_and_cooling_together(
    site: Site,
) -> None:
    """D8: the circuit is one for all that ask the same store."""
    site.proxy.set(latency=2.0)

    async def request() -> None:
        await site.limits.take("visitor", RATE)
        await site.cooldowns.cooldowns()
        await site.cooldowns.cool(ONE, resting())

    assert await seconds(request()) < AT_MOST


async def test_a_slow_store_stays_out_of_the_way_but_still_tells_what_it_knows(
    site: Site,
) -> None:
    site.proxy.set(latency=0.6)
    other = resting()
    assert await seconds(site.cooldowns.cooldowns()) < AT_MOST
    await site.direct.cool(ONE, other)
    waits = []
    async with asyncio.timeout(10):
        while ONE not in await site.cooldowns.cooldowns():
            await stale(site)
            waits.append(await seconds(site.cooldowns.cooldowns()))
    assert max(waits) < AT_ONCE
    assert site.cooldowns.circuit.open
    assert "still slow" in site.degraded


async def test_answers_in_slices_and_slow_closes_do_no_harm(site: Site) -> None:
    site.proxy.set(slices=7, slow_close=1.0)
    mine = resting()
    assert await site.store.cool(ONE, mine) == {ONE: mine}
    await knows(site.store, {ONE: mine})
    assert await site.limits.take("visitor", RATE) == 0
    assert not site.degraded


async def test_two_instances_that_cool_one_key_agree_after_an_outage(
    table: DynamoStore, proxy: FaultProxy
) -> None:
    """D3: one was cut off when both saw the key fail; the later deadline wins, everywhere."""
    async with site_on(table, proxy) as cut_off, site_on(table, proxy) as other:
        early, late = resting(60), resting(300)
        proxy.set(down=True)
        await cut_off.cooldowns.cool(ONE, late)
        await other.cooldowns.cool(ONE, early)
        proxy.set()
        await cut_off.back()
        await other.back()
        for store in (table, cut_off.cooldowns, other.cooldowns):
            await knows(store, {ONE: late})


async def test_throttling_degrades_and_recovers(table: DynamoStore, dynamodb_local: str) -> None:
    """D1, D2: the answer of an overloaded table, through the real boto3."""
    with ThrottlingFront(dynamodb_local) as front:
        front.throttling = False
        with FaultProxy(front.url) as proxy:
            async with site_on(table, proxy) as site:
                front.throttling = True
                with pytest.raises(StoreUnavailable, match="ProvisionedThroughputExceeded"):
                    await site.store.cooldowns()
                mine = resting()
                assert await seconds(site.cooldowns.cool(ONE, mine)) < AT_MOST
                assert await seconds(site.cooldowns.cooldowns()) < AT_ONCE
                assert await seconds(site.limits.take("visitor", RATE)) < AT_ONCE
                assert front.refused > 2, "boto3 tried twice"
                assert await table.cooldowns() == {}
                front.throttling = False
                await site.back()
                await knows(table, {ONE: mine})
