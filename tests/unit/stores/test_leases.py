"""Limits of a whole site by lease (scale E4): exactness, lost leases, and a table with a limit."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

from kefu.chat.admission import Admission, Allowance
from kefu.chat.limits import Granted, Rate
from kefu.errors import BudgetExhausted, StoreUnavailable
from kefu.stores.guarded.circuit import Circuit
from kefu.stores.guarded.leases import (
    IDLE_SECONDS,
    LEASE,
    LEASE_OF_BUDGET,
    LEASED_BUDGET,
    LeasedLimits,
)
from kefu.stores.guarded.limits import GuardedLimits
from kefu.stores.memory import MemoryStore
from tests.fakes.relaying import CLOCK, in_virtual_time
from tests.parts.plugin import slow

DAY = 1_000_000
FULL = DAY // LEASE_OF_BUDGET // 2
"""The tokens with which a lease begins."""
SITE = Rate(300, 60.0)


class Table(MemoryStore):
    """A store in which each row takes `most` writes a second, as a DynamoDB item does."""

    def __init__(self, most: float = float("inf")) -> None:
        super().__init__(CLOCK.now)
        self.most = most
        self.is_away = False
        self.writes: Counter[str] = Counter()
        self.throttled = 0
        self._second: Counter[tuple[str, int]] = Counter()

    async def _write(self, row: str) -> None:
        await asyncio.sleep(0.005)
        second = row, int(CLOCK.now())
        if self.is_away or self._second[second] >= self.most:
            self.throttled += 1
            raise StoreUnavailable("throttled")
        self._second[second] += 1
        self.writes[row] += 1

    async def take(self, bucket: str, rate: Rate, places: int = 1) -> float:
        await self._write(bucket)
        return await super().take(bucket, rate, places)

    async def reserve(self, budget: str, amount: int, limit: int) -> Granted | None:
        await self._write(budget)
        return await super().reserve(budget, amount, limit)

    async def settle(self, budget: str, difference: int) -> None:
        await self._write(budget)
        await super().settle(budget, difference)

    def used(self, budget: str = "today") -> int:
        return self._used(budget)


def holder(table: Table) -> LeasedLimits:
    circuit = Circuit(table.cooldowns, timeout=0.2, on_degraded=lambda _: None)
    return LeasedLimits(GuardedLimits(table, MemoryStore(CLOCK.now), circuit), CLOCK.now)


async def closed(holders: Sequence[LeasedLimits]) -> None:
    await asyncio.gather(*(one.give_back() for one in holders))
    await asyncio.gather(*(one._limits.circuit.aclose() for one in holders))


async def flood(holders: Sequence[LeasedLimits], amount: int, times: int, limit: int) -> int:
    """Reserve so often at once, spread over the holders. Returns the number of those granted."""
    granted = await asyncio.gather(
        *(holders[n % len(holders)].reserve("today", amount, limit) for n in range(times))
    )
    return sum(map(bool, granted))


@pytest.mark.parametrize("holders", [1, 4, 1000])
@in_virtual_time
async def test_e4_of_a_hundred_at_once_a_small_budget_admits_eleven(holders: int) -> None:
    """T2: a budget of few chats is not leased."""
    table = Table()
    them = [holder(table) for _ in range(holders)]
    assert await flood(them, 90, 100, 1000) == 11
    await closed(them)


@pytest.mark.parametrize("holders", [1, 4, slow(1000)])
@in_virtual_time
async def test_e4_an_attack_spends_no_more_than_the_budget_and_leaves_at_most_the_leases(
    holders: int,
) -> None:
    """Reserved and used in full, until all holders refuse."""
    table, amount = Table(), 1000
    them = [holder(table) for _ in range(holders)]
    spent = sum([amount * await flood(them, amount, 2000, DAY) for _ in range(3)])
    at_most_unused = min(holders * DAY // LEASE_OF_BUDGET, DAY // LEASED_BUDGET)
    assert DAY - at_most_unused <= spent <= DAY
    assert table.used() <= DAY
    await closed(them)


@pytest.mark.parametrize("killed", [1, 4, 1000])
@in_virtual_time
async def test_e4_killed_holders_lose_a_tenth_of_the_budget_at_most(killed: int) -> None:
    """Each dies with its whole lease. Nothing of it is given back."""
    table, amount = Table(), 1000
    spent = 0
    for _ in range(killed):
        spent += amount * bool(await holder(table).reserve("today", amount, DAY // 10 * 10))
    survivor = holder(table)
    while await survivor.reserve("today", amount, DAY):
        spent += amount
    lost = DAY - spent
    assert lost <= min(killed * DAY // LEASE_OF_BUDGET, DAY // LEASED_BUDGET)
    assert table.used() <= DAY


@in_virtual_time
async def test_e4_a_holder_gives_its_lease_back_at_its_end_and_when_it_is_idle() -> None:
    table = Table()
    first, second = holder(table), holder(table)
    for one in (first, second):
        assert await one.reserve("today", 1000, DAY)
        await one.settle("today", -900)
    assert table.used() == 2 * FULL
    await first.give_back()
    assert table.used() == FULL + 100
    await asyncio.sleep(2.1 * IDLE_SECONDS)
    assert (table.used(), table.used("today:leased")) == (200, 0)
    await closed([first, second])


@in_virtual_time
async def test_e4_what_an_answer_took_beyond_its_reservation_is_counted() -> None:
    table = Table()
    one = holder(table)
    assert await one.reserve("today", 1000, DAY)
    await one.settle("today", 50_000)
    await one.give_back()
    assert table.used() == 51_000
    await closed([one])


@in_virtual_time
async def test_e4_without_the_store_a_holder_goes_on_within_its_lease_alone() -> None:
    table = Table()
    one = holder(table)
    assert await one.reserve("today", 1000, DAY)
    table.is_away = True
    for _ in range(FULL // 1000 - 1):
        assert await one.reserve("today", 1000, DAY)
    with pytest.raises(StoreUnavailable):
        await one.reserve("today", 1000, DAY)
    waits = [await one.take("site", SITE) for _ in range(100)]
    assert sum(wait == 0 for wait in waits) == LEASE
    table.is_away = False
    await closed([one])


@pytest.mark.parametrize("holders", [1, 4, 50])
@in_virtual_time
async def test_e4_a_flood_is_admitted_at_the_rate_of_the_site(holders: int) -> None:
    """Ten minutes of 50 requests a second, where 5 are allowed."""
    table, admitted = Table(), 0
    them = [holder(table) for _ in range(holders)]
    for number in range(50 * 600):
        admitted += await them[number % holders].take("site", SITE) == 0
        await asyncio.sleep(0.02)
    allowed = SITE.requests * (1 + CLOCK.monotonic() / SITE.period)
    unused = min(holders * LEASE, SITE.requests / 2)
    assert 0.9 * allowed - unused <= admitted <= allowed
    await closed(them)


@pytest.mark.parametrize("rate", [Rate(5, 60.0), Rate(19, 60.0)])
@in_virtual_time
async def test_e4_a_low_rate_is_not_leased(rate: Rate) -> None:
    table = Table()
    them = [holder(table) for _ in range(3)]
    waits = [await them[n % 3].take("site", rate) for n in range(60)]
    assert [wait == 0 for wait in waits] == [True] * rate.requests + [False] * (60 - rate.requests)
    await closed(them)


@in_virtual_time
async def test_e4_the_limits_of_an_address_are_not_leased() -> None:
    table = Table()
    one = holder(table)
    for _ in range(20):
        assert await one.take("ip:10.0.0.1", SITE) == 0
    assert table.writes["ip:10.0.0.1"] == 20
    await closed([one])


SECONDS, HOLDERS, CHATS_A_SECOND = 4, 100, 5000
MANY, MUCH = Rate(CHATS_A_SECOND * 60 * 4, 60.0), 10**12


@pytest.mark.slow
@in_virtual_time
async def test_e4_5000_chats_a_second_with_1000_writes_a_second_to_a_row() -> None:
    """With AWS's limit of an item: no chat is refused, and hardly a write a chat is left."""
    table = Table(most=1000)
    admissions = [
        Admission(holder(table), CLOCK, Allowance(site=MANY, daily_tokens=MUCH))
        for _ in range(HOLDERS)
    ]

    async def chat(number: int) -> None:
        await asyncio.sleep(number / CHATS_A_SECOND)
        admission = admissions[number % HOLDERS]
        await admission.admit_site()
        async with admission.budget(3000, lambda: 600):
            await asyncio.sleep(2)

    count = SECONDS * CHATS_A_SECOND
    await asyncio.gather(*(chat(number) for number in range(count)))
    assert table.throttled == 0
    assert table.writes.total() / count < 0.5


@pytest.mark.slow
@in_virtual_time
async def test_e4_a_throttled_table_does_not_open_the_limits_of_a_flood() -> None:
    """50 processes, 20 writes a second: most calls fail, and the budget is still not exceeded."""
    table = Table(most=20)
    admissions = [
        Admission(holder(table), CLOCK, Allowance(site=SITE, daily_tokens=DAY)) for _ in range(50)
    ]
    admitted = Counter[str]()

    async def chat(number: int) -> None:
        await asyncio.sleep(number / 500)
        admission = admissions[number % 50]
        try:
            await admission.admit_site()
            admitted["rate"] += 1
            async with admission.budget(2000, lambda: 2000):
                admitted["tokens"] += 2000
        except Exception as error:  # noqa: BLE001 - counted
            admitted[type(error).__name__] += 1

    await asyncio.gather(*(chat(number) for number in range(10_000)))
    assert table.throttled > 0
    assert admitted["tokens"] <= DAY
    allowed = SITE.requests * (1 + 20 / SITE.period)
    assert admitted["rate"] <= allowed + 50 * LEASE * (1 + 20 / SITE.period)


@in_virtual_time
async def test_e4_a_spent_budget_is_refused_and_says_until_when() -> None:
    admission = Admission(holder(Table()), CLOCK, Allowance(daily_tokens=DAY))
    with pytest.raises(BudgetExhausted):
        async with admission.budget(DAY + 1, lambda: 0):
            pass
