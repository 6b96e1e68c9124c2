"""Network faults of DynamoDB: chats continue, and only the first ones wait (D1, D2, D3, D8,
T33).
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from kefu.chat.limits import Rate
from kefu.errors import StoreUnavailable
from kefu.relay.key_pool import Cooldown, Reason, fingerprint
from kefu.stores.dynamodb.store import DynamoStore
from kefu.stores.guarded.circuit import IN_A_ROW
from kefu.stores.guarded.cooldowns import GuardedCooldowns
from kefu.stores.guarded.limits import GuardedLimits
from kefu.stores.memory import MemoryStore
from tests.contract.engines import knows, patient
from tests.fakes.fault_proxy import FaultProxy
from tests.fakes.throttling_front import ThrottlingFront
from tests.fakes.waits import waited
from tests.parts.plugin import daily

ONE, TWO = fingerprint("key-one"), fingerprint("key-two")
RATE = Rate(3, 86400.0)
AT_MOST = 0.3
"""Seconds a request may be longer for a store that is in trouble."""
AT_ONCE = 0.1
"""Seconds within which no store was waited for."""


def cooling(seconds: float = 60.0) -> Cooldown:
    return Cooldown(time.time() + seconds, Reason.RATE_LIMITED)


@dataclass
class Site:
    """The stores of one service instance, behind a network with faults."""

    proxy: FaultProxy
    store: DynamoStore
    direct: DynamoStore
    """The same table without network faults, as other instances use it."""
    cooldowns: GuardedCooldowns
    limits: GuardedLimits
    degraded: list[str] = field(default_factory=list)

    async def back(self) -> None:
        """Wait until the circuit is closed again."""

        async def closed() -> bool:
            return not self.cooldowns.circuit.open

        await eventually(closed)

    async def given_up(self) -> None:
        """Send requests until the circuit is open, which takes three failures."""
        while not self.cooldowns.circuit.open:
            assert await waited(self.limits.take("nobody", RATE)) < AT_MOST
        assert self.cooldowns.circuit.open


async def eventually(holds: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(15):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def site_on(table: DynamoStore, proxy: FaultProxy) -> AsyncIterator[Site]:
    degraded: list[str] = []
    store = DynamoStore(table.table, time.time, endpoint=proxy.url)
    await store.cooldowns()  # boto3 is imported and a connection is open
    cooldowns = GuardedCooldowns(
        store, time.time, cache_for=0.1, on_degraded=degraded.append, pause=0.25
    )
    limits = GuardedLimits(store, MemoryStore(time.time), cooldowns.circuit)
    yield Site(proxy, store, table, cooldowns, limits, degraded)
    await cooldowns.circuit.aclose()
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


FAULTS: dict[str, Callable[[FaultProxy], None]] = {
    "down": lambda proxy: proxy.set(down=True),
    "black hole": lambda proxy: proxy.set(black_hole=True),
    "slow": lambda proxy: proxy.set(latency=2.0),
    "reset": lambda proxy: proxy.set(reset_after=20),
    "trickle": lambda proxy: proxy.set(bandwidth=50),
}


@pytest.fixture(params=daily(FAULTS, "down", "slow"))
def fault(request: pytest.FixtureRequest) -> Callable[[FaultProxy], None]:
    return FAULTS[request.param]


async def stale(site: Site) -> None:
    """Advance the clock until the cached cooldowns have expired."""
    await asyncio.sleep(0.12)


async def test_reads_use_the_cached_values(site: Site, fault: Callable[[FaultProxy], None]) -> None:
    """D1, D8: three calls wait at most 300 ms each; later calls do not wait."""
    other = cooling()
    await site.direct.cool(ONE, other)
    await knows(site.cooldowns, {ONE: other})
    fault(site.proxy)
    for _ in range(IN_A_ROW):
        await stale(site)
        assert await waited(site.cooldowns.cooldowns()) < AT_MOST
    assert site.cooldowns.circuit.open
    assert site.degraded
    for _ in range(5):
        await stale(site)
        assert await waited(site.cooldowns.cooldowns()) < AT_ONCE
    assert await site.cooldowns.cooldowns() == {ONE: other}


async def test_a_cooldown_that_cannot_be_written_holds_here_and_is_written_later(
    site: Site, fault: Callable[[FaultProxy], None]
) -> None:
    """Fault D2."""
    fault(site.proxy)
    mine = cooling()
    assert await waited(site.cooldowns.cool(ONE, mine)) < AT_MOST
    assert (await site.cooldowns.cooldowns())[ONE] == mine
    assert await waited(site.cooldowns.cool(TWO, mine)) < AT_MOST
    assert await site.cooldowns.cooldowns() == {ONE: mine, TWO: mine}
    site.proxy.set()
    await site.back()
    await knows(site.direct, {ONE: mine, TWO: mine})


async def test_rate_limits_go_on_in_memory(site: Site, fault: Callable[[FaultProxy], None]) -> None:
    """T33: the count continues, so an outage gives no new burst and takes none away."""
    assert await site.limits.take("visitor", RATE) == 0
    fault(site.proxy)
    assert await waited(site.limits.take("visitor", RATE)) < AT_MOST
    assert await waited(site.limits.take("visitor", RATE)) < AT_MOST
    assert await site.limits.take("visitor", RATE) > 0
    assert await site.limits.take("other visitor", RATE) == 0
    assert site.cooldowns.circuit.open
    assert await waited(site.limits.take("other visitor", RATE)) < AT_ONCE


async def test_a_closed_budget_goes_on_within_its_last_known_rest(
    site: Site, fault: Callable[[FaultProxy], None]
) -> None:
    """T33: another instance has reserved 500 of 1,000 and this one 100, so 400 are left."""
    assert await site.direct.reserve("day", 500, 1000)
    assert await site.limits.reserve("day", 100, 1000)
    fault(site.proxy)
    assert await waited(site.limits.reserve("day", 300, 1000)) < AT_MOST
    assert not await site.limits.reserve("day", 101, 1000)
    assert await site.limits.reserve("day", 100, 1000)
    assert not await site.limits.reserve("day", 1, 1000)
    site.proxy.set()
    await site.back()

    async def counted() -> bool:
        # A request may have been counted although its response was lost. It is then counted twice.
        return await used(site.direct, "day") >= 1000

    await eventually(counted)


async def used(store: DynamoStore, budget: str) -> int:
    granted = await store.reserve(budget, 0, 10_000)
    assert granted
    return 10_000 - granted.left


async def test_a_closed_budget_of_unknown_use_refuses(
    site: Site, fault: Callable[[FaultProxy], None]
) -> None:
    """Requirement T33."""
    assert await site.limits.reserve("day", 1, 1000)
    fault(site.proxy)
    await site.given_up()
    with pytest.raises(StoreUnavailable):
        await site.limits.reserve("next day", 1, 1000)
    site.proxy.set()
    await site.back()
    assert await site.limits.reserve("next day", 1, 1000)


async def test_the_used_tokens_are_settled_when_the_store_is_back(
    site: Site, fault: Callable[[FaultProxy], None]
) -> None:
    assert await site.limits.reserve("day", 1000, 1000)
    fault(site.proxy)
    await site.given_up()
    assert await waited(site.limits.settle("day", -400)) < AT_ONCE
    assert await waited(site.limits.settle("day", -100)) < AT_ONCE
    site.proxy.set()
    await site.back()
    await eventually(lambda: site.direct.reserve("day", 500, 1000))
    assert not await site.direct.reserve("day", 1, 1000)


async def test_nothing_is_given_back_twice(site: Site, fault: Callable[[FaultProxy], None]) -> None:
    """The fault happens during a refund. The refund may be lost, but is never repeated."""
    assert await site.limits.reserve("day", 1000, 1000)
    fault(site.proxy)
    assert await waited(site.limits.settle("day", -400)) < AT_MOST
    await site.given_up()
    site.proxy.set()
    await site.back()
    await site.limits.settle("day", -100)
    await eventually(lambda: site.direct.reserve("day", 100, 1000))
    await asyncio.sleep(1)  # for pending writes
    assert not await site.direct.reserve("day", 401, 1000)


async def test_a_budget_that_went_on_alone_is_settled_when_the_store_is_back(
    table: DynamoStore, proxy: FaultProxy
) -> None:
    async with site_on(table, proxy) as site:
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


async def test_the_failures_of_reading_limiting_and_cooling_count_together(
    site: Site,
) -> None:
    """D8: guards of one store share the circuit. So the second request does not wait for the store.

    The first request waits for three calls.
    """
    site.proxy.set(latency=2.0)

    async def request() -> None:
        await site.limits.take("visitor", RATE)
        await site.cooldowns.cooldowns()
        await site.cooldowns.cool(ONE, cooling())

    assert await waited(request()) < IN_A_ROW * AT_MOST
    assert site.cooldowns.circuit.open
    assert await waited(request()) < AT_ONCE


async def test_one_pause_of_the_store_opens_nothing_and_refuses_nobody(site: Site) -> None:
    """Forty requests meet the same pause: it is one failure, not forty."""
    patient(site.store)  # a response that boto3 does not wait for may count twice
    assert await site.limits.reserve("day", 1, 1000)
    site.proxy.set(latency=0.3)
    granted = await asyncio.gather(*(site.limits.reserve("day", 1, 1000) for _ in range(40)))
    site.proxy.set()
    assert all(granted)
    assert site.degraded
    assert not site.cooldowns.circuit.open

    async def counted_once() -> bool:
        return await used(site.direct, "day") == 41

    await eventually(counted_once)


async def test_a_slow_store_delays_no_request_and_its_late_results_are_used(
    site: Site,
) -> None:
    site.proxy.set(latency=0.6)
    other = cooling()
    await site.given_up()
    await site.direct.cool(ONE, other)
    waits = []
    async with asyncio.timeout(10):
        while ONE not in await site.cooldowns.cooldowns():
            await stale(site)
            waits.append(await waited(site.cooldowns.cooldowns()))
    assert max(waits) < AT_ONCE
    assert site.cooldowns.circuit.open
    assert "still slow" in site.degraded


async def test_answers_in_slices_and_slow_closes_do_no_harm(site: Site) -> None:
    site.proxy.set(slices=7, slow_close=1.0)
    mine = cooling()
    assert await site.store.cool(ONE, mine) == {ONE: mine}
    await knows(site.store, {ONE: mine})
    assert await site.store.take("visitor", RATE) == 0


async def test_two_instances_that_cool_one_key_agree_after_an_outage(
    table: DynamoStore, proxy: FaultProxy
) -> None:
    """D3: one instance was disconnected when both saw the key fail. The later deadline applies to
    both.
    """
    async with site_on(table, proxy) as cut_off, site_on(table, proxy) as other:
        early, late = cooling(60), cooling(300)
        proxy.set(down=True)
        await cut_off.given_up()
        await other.given_up()
        await cut_off.cooldowns.cool(ONE, late)
        await other.cooldowns.cool(ONE, early)
        proxy.set()
        await cut_off.back()
        await other.back()
        for store in (table, cut_off.cooldowns, other.cooldowns):
            await knows(store, {ONE: late})


async def test_throttling_degrades_and_recovers(table: DynamoStore, dynamodb_endpoint: str) -> None:
    """D1, D2: DynamoDB's throttling error, with the real boto3."""
    with ThrottlingFront(dynamodb_endpoint) as front:
        front.throttling = False
        with FaultProxy(front.url) as proxy:
            async with site_on(table, proxy) as site:
                front.throttling = True
                with pytest.raises(StoreUnavailable, match="ProvisionedThroughputExceeded"):
                    await site.store.cooldowns()
                mine = cooling()
                assert await waited(site.cooldowns.cool(ONE, mine)) < AT_MOST
                await site.given_up()
                assert await waited(site.cooldowns.cooldowns()) < AT_ONCE
                assert await waited(site.limits.take("visitor", RATE)) < AT_ONCE
                assert front.refused > 2, "boto3 tried twice"
                assert await table.cooldowns() == {}
                front.throttling = False
                await site.back()
                await knows(table, {ONE: mine})
