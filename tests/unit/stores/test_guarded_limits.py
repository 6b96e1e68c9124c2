"""How long a limit waits for a slow store, and when the store is suspended."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kefu.chat.admission import Admission, Allowance
from kefu.chat.limits import Granted, Rate
from kefu.errors import StoreUnavailable
from kefu.relay.key_pool import Cooldown, Cooldowns, Fingerprint, Reason, fingerprint
from kefu.sessions.store.model import NewMessage, Retention, Session, SessionId, TurnOutcome
from kefu.stores.guarded.circuit import IN_A_ROW, Circuit
from kefu.stores.guarded.cooldowns import GuardedCooldowns
from kefu.stores.guarded.limits import GuardedLimits
from kefu.stores.guarded.sessions import GuardedSessions
from kefu.stores.memory import MemoryStore
from kefu.stores.sqlite.store import SqliteStore
from tests.fakes.relaying import CLOCK, in_virtual_time

RATE = Rate(1000, 60.0)
DAY = 10_000


class SlowStore(MemoryStore):
    """A store that answers after `seconds`."""

    def __init__(self) -> None:
        super().__init__(CLOCK.now)
        self.seconds = 0.0
        self.asked = 0

    async def take(self, bucket: str, rate: Rate, places: int = 1) -> float:
        self.asked += 1
        await asyncio.sleep(self.seconds)
        return await super().take(bucket, rate, places)

    async def reserve(self, budget: str, amount: int, limit: int) -> Granted | None:
        self.asked += 1
        await asyncio.sleep(self.seconds)
        return await super().reserve(budget, amount, limit)

    async def settle(self, budget: str, difference: int) -> None:
        await asyncio.sleep(self.seconds)
        await super().settle(budget, difference)

    async def cooldowns(self) -> Cooldowns:
        self.asked += 1
        await asyncio.sleep(self.seconds)
        return await super().cooldowns()


class Site:
    def __init__(self, store: SlowStore | None = None) -> None:
        self.store = store or SlowStore()
        self.degraded: list[str] = []
        circuit = Circuit(
            lambda: self.store.settle("probe", 0), timeout=0.2, on_degraded=self.degraded.append
        )
        self.limits = GuardedLimits(self.store, MemoryStore(CLOCK.now), circuit)

    async def reserve(self, amount: int, budget: str = "today") -> bool:
        return bool(await self.limits.reserve(budget, amount, DAY))

    async def used(self) -> int:
        granted = await MemoryStore.reserve(self.store, "today", 0, DAY)
        assert granted
        return DAY - granted.left


def now() -> float:
    return asyncio.get_running_loop().time()


@in_virtual_time
async def test_one_slow_call_opens_nothing_and_refuses_nobody() -> None:
    site = Site()
    assert await site.reserve(100)
    for _ in range(20):
        site.store.seconds = 0.5
        assert await site.reserve(100)
        assert await site.limits.take("visitor", RATE) == 0
        site.store.seconds = 0.0
        await asyncio.sleep(1.0)
        assert await site.reserve(100)
        assert not site.limits.circuit.open
    await site.limits.circuit.aclose()


@in_virtual_time
async def test_three_slow_calls_one_after_the_other_open_the_circuit_and_nobody_is_refused() -> (
    None
):
    site = Site()
    assert await site.reserve(100)
    site.store.seconds = 5.0
    for _ in range(IN_A_ROW):
        assert not site.limits.circuit.open
        assert await site.reserve(100)
    assert site.limits.circuit.open
    asked, started = site.store.asked, now()
    for _ in range(50):
        assert await site.reserve(100)
        assert await site.limits.take("visitor", RATE) == 0
    assert (site.store.asked, now()) == (asked, started)
    await site.limits.circuit.aclose()


@in_virtual_time
async def test_a_pause_that_a_hundred_requests_meet_is_one_failure() -> None:
    site = Site()
    assert await site.reserve(100)
    site.store.seconds = 0.5

    async def request(at: float) -> bool:
        await asyncio.sleep(at)
        return await site.limits.take("visitor", RATE) == 0 and await site.reserve(1)

    assert all(await asyncio.gather(*(request(number / 1000) for number in range(100))))
    assert len(site.degraded) > IN_A_ROW
    assert not site.limits.circuit.open
    await site.limits.circuit.aclose()


@in_virtual_time
async def test_d8_one_chat_waits_300_ms_for_a_store_that_does_not_answer_and_others_do_not() -> (
    None
):
    """With the service's time limit of 0.1 s, and one circuit for limits and cooldowns."""
    store, local = SlowStore(), MemoryStore(CLOCK.now)
    degraded: list[str] = []
    cooldowns = GuardedCooldowns(store, CLOCK.now, timeout=0.1, on_degraded=degraded.append)
    limits = GuardedLimits(store, local, cooldowns.circuit)
    store.seconds = 60.0

    async def chat() -> float:
        started = now()
        assert await limits.take("visitor", RATE) == 0
        assert await limits.take("site", RATE) == 0
        assert await cooldowns.cooldowns() == {}
        return now() - started

    assert await chat() == pytest.approx(0.3)
    assert degraded == [
        "taking from a rate limit: no answer in 0.1 s",
        "taking from a rate limit: no answer in 0.1 s",
        "reading cooldowns: no answer in 0.1 s",
    ]
    asked = store.asked
    assert [await chat() for _ in range(6)] == [0.0] * 6
    assert store.asked == asked
    await limits.circuit.aclose()
    await cooldowns.circuit.aclose()


@in_virtual_time
async def test_a_pause_that_forty_reservations_meet_is_counted_once() -> None:
    """Each was granted by the last known rest, and its late reservation is given back."""
    site = Site()
    assert await site.reserve(100)
    site.store.seconds = 0.3
    assert all(await asyncio.gather(*(site.reserve(1) for _ in range(40))))
    site.store.seconds = 0.0
    await asyncio.sleep(1.0)
    await site.limits.settle("today", 0)
    assert not site.limits.circuit.open
    assert await site.used() == 140
    await site.limits.circuit.aclose()


@in_virtual_time
async def test_a_known_budget_is_not_exceeded_while_the_store_is_away() -> None:
    site = Site()
    assert await site.reserve(DAY - 250)
    site.store.seconds = 60.0
    granted = [await site.reserve(100) for _ in range(6)]
    assert granted == [True, True, False, False, False, False]
    await site.limits.circuit.aclose()


@in_virtual_time
async def test_use_by_other_instances_counts_in_the_last_known_rest() -> None:
    site = Site()
    await MemoryStore.reserve(site.store, "today", DAY - 500, DAY)
    assert await site.reserve(100)
    site.store.seconds = 60.0
    assert not await site.reserve(401)
    assert await site.reserve(400)
    await site.limits.circuit.aclose()


@in_virtual_time
async def test_a_reservation_that_comes_too_late_is_given_back() -> None:
    site = Site()
    assert await site.reserve(100)
    site.store.seconds = 0.5
    assert await site.reserve(100)  # by the last known use
    site.store.seconds = 0.0
    await asyncio.sleep(1.0)
    await site.limits.settle("today", 0)
    assert await site.used() == 200
    await site.limits.circuit.aclose()


@in_virtual_time
async def test_a_reservation_whose_visitor_left_is_given_back() -> None:
    site = Site()
    assert await site.reserve(100)
    site.store.seconds = 0.15
    leaving = asyncio.create_task(site.reserve(100))
    await asyncio.sleep(0.1)
    leaving.cancel()
    await asyncio.sleep(1.0)
    assert await site.used() == 100
    await site.limits.circuit.aclose()


@in_virtual_time
async def test_tokens_are_given_back_when_the_visitor_leaves_and_leaves_again() -> None:
    """The second cancellation comes while the budget is settled."""
    site = Site()
    admission = Admission(site.limits, CLOCK, Allowance(daily_tokens=DAY))

    async def answer() -> None:
        async with admission.budget(500, lambda: 20):
            await asyncio.sleep(60)

    leaving = asyncio.create_task(answer())
    await asyncio.sleep(1.0)
    site.store.seconds = 0.1
    for _ in range(2):
        leaving.cancel()
        await asyncio.sleep(0.05)
    await asyncio.sleep(1.0)
    assert [used for used, _ in site.store._budgets.values()] == [20]
    await site.limits.circuit.aclose()


def count_tasks() -> list[str]:
    """The names of the coroutines for which tasks are made from now on."""
    made: list[str] = []

    def factory(loop: asyncio.AbstractEventLoop, call: Any, **options: Any) -> asyncio.Task[Any]:
        made.append(call.__qualname__)
        return asyncio.Task(call, loop=loop, **options)

    asyncio.get_running_loop().set_task_factory(factory)
    return made


async def test_calls_of_a_store_that_need_not_wait_make_no_task(tmp_path: Path) -> None:
    """Before Python 3.12, those that go on when they are late do: `reserve`, `settle`, `begin`."""
    store, now = SqliteStore(tmp_path / "kefu.sqlite3", CLOCK.now), CLOCK.now()
    circuit = Circuit(store.cooldowns, timeout=0.2, on_degraded=pytest.fail)
    limits = GuardedLimits(store, MemoryStore(CLOCK.now), circuit)
    sessions = GuardedSessions(store.sessions(Retention()), on_degraded=pytest.fail)
    chat = Session(SessionId("a" * 32), "", "", now, now)
    await sessions.used()  # the worker thread opens the file
    made = count_tasks()
    assert await limits.take("visitor", RATE) == 0
    await sessions.session(chat.id)
    await sessions.messages(chat.id, now=now)
    assert made == []
    assert await limits.reserve("today", 100, DAY)
    await limits.settle("today", -1)
    begun = await sessions.begin(chat, NewMessage("Hello"), now)
    await sessions.finish(chat.id, begun.message.id, TurnOutcome("ok", "Hello"), now)
    assert len(made) == (0 if sys.version_info >= (3, 12) else 3)
    await limits.circuit.aclose()
    await sessions.circuit.aclose()
    await store.aclose()


@in_virtual_time
async def test_a_reservation_from_an_unknown_budget_waits_a_second_then_refuses() -> None:
    site = Site()
    assert await site.reserve(100)
    site.store.seconds = 0.9
    assert await site.reserve(100, "tomorrow")
    site.store.seconds = 5.0
    started = now()
    with pytest.raises(StoreUnavailable):
        await site.reserve(100, "the day after")
    assert now() - started == pytest.approx(1.0)
    await site.limits.circuit.aclose()


async def test_a_busy_event_loop_is_not_taken_for_a_slow_store() -> None:
    """The store answers after 10 ms, but the event loop is blocked for 300 ms, longer than the time
    limit.
    """
    degraded: list[str] = []

    async def probe() -> None:
        """Not called, because the circuit stays closed."""

    circuit = Circuit(probe, timeout=0.1, on_degraded=degraded.append)

    async def call() -> str:
        await asyncio.to_thread(time.sleep, 0.01)
        return "answer"

    waiting = asyncio.create_task(circuit.call("reading", call()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    time.sleep(0.3)  # noqa: ASYNC251 - the event loop is held up
    assert await waiting == "answer"
    assert degraded == []


class AwayStore(SlowStore):
    """A store whose settling is slow or away, too: it is also the probe of a closed circuit."""

    is_away = False

    async def take(self, bucket: str, rate: Rate, places: int = 1) -> float:
        self._check()
        return await super().take(bucket, rate, places)

    async def settle(self, budget: str, difference: int) -> None:
        self._check()
        await super().settle(budget, difference)

    def _check(self) -> None:
        if self.is_away:
            raise StoreUnavailable("away")


def is_suspended(site: Site) -> bool:
    return site.limits.circuit.open


async def open_circuit(site: Site, calls: int = IN_A_ROW) -> None:
    """Three failed calls, one after the other."""
    for _ in range(calls):
        assert not is_suspended(site)
        await site.limits.take("visitor", RATE)
        await asyncio.sleep(0.5)
    assert is_suspended(site)
    site.degraded.clear()


@in_virtual_time
async def test_d8_a_store_that_is_back_is_asked_again_after_three_seconds() -> None:
    """What was used meanwhile is added to it then."""
    site = Site(store := AwayStore())
    assert await site.reserve(100)
    store.is_away = True
    await open_circuit(site)
    assert await site.reserve(300)
    await site.limits.settle("today", -50)
    store.is_away = False
    asked = store.asked
    await asyncio.sleep(2.4)
    assert is_suspended(site)
    await asyncio.sleep(0.2)
    assert not is_suspended(site)
    assert (site.degraded, await site.used()) == ([], 100 + 300 - 50)
    await site.limits.take("visitor", RATE)
    assert store.asked > asked
    await site.limits.circuit.aclose()


@in_virtual_time
async def test_d8_a_store_is_probed_each_three_seconds_until_it_answers_in_time() -> None:
    site = Site(store := AwayStore())
    store.is_away = True
    await open_circuit(site)
    await asyncio.sleep(5.9)
    assert site.degraded == ["still unavailable: away"] * 2
    store.is_away, store.seconds = False, 0.3
    site.degraded.clear()
    await asyncio.sleep(6.6)
    assert site.degraded == ["still slow"] * 2
    assert is_suspended(site)
    store.seconds = 1000.0
    site.degraded.clear()
    await asyncio.sleep(15)
    assert site.degraded == ["still unavailable: no answer in 10 s"]
    store.seconds = 0.1
    await asyncio.sleep(1)
    assert not is_suspended(site)
    await site.limits.circuit.aclose()


@in_virtual_time
async def test_d8_failures_between_which_the_store_answers_open_nothing() -> None:
    site = Site(store := AwayStore())
    for _ in range(5):
        for is_away in (True, True, False):
            store.is_away = is_away
            await site.limits.take("visitor", RATE)
            await asyncio.sleep(0.5)
        assert not is_suspended(site)
    assert site.degraded == ["taking from a rate limit: away"] * 10
    await site.limits.circuit.aclose()


@pytest.mark.parametrize(("difference", "counted"), [(500, 500), (-300, 0)])
@in_virtual_time
async def test_d8_use_that_could_not_be_settled_is_added_after_the_outage_and_a_refund_is_not(
    difference: int, counted: int
) -> None:
    """The store may have made the change. A refund that is made twice would exceed the budget."""
    site = Site(store := AwayStore())
    assert await site.reserve(1000)
    store.is_away = True
    await site.limits.settle("today", difference)
    assert site.degraded == ["settling a budget: away"]
    await open_circuit(site, IN_A_ROW - 1)
    store.is_away = False
    await asyncio.sleep(3.1)
    assert await site.used() == 1000 + counted
    await asyncio.sleep(10)
    assert await site.used() == 1000 + counted
    await site.limits.circuit.aclose()


class ForgetfulStore(SlowStore):
    """A store that cannot write cooldowns for a while."""

    is_away = False

    async def cool(self, key: Fingerprint, cooldown: Cooldown) -> Cooldowns:
        if self.is_away:
            raise StoreUnavailable("away")
        return await super().cool(key, cooldown)


@in_virtual_time
async def test_d8_a_cooldown_that_could_not_be_written_is_written_when_the_store_is_back() -> None:
    """The other processes learn of it then, if it has not ended."""
    store, degraded, one = ForgetfulStore(), list[str](), fingerprint("key-one")
    cooldowns = GuardedCooldowns(store, CLOCK.now, timeout=0.1, on_degraded=degraded.append)
    store.is_away = True
    long = Cooldown(CLOCK.now() + 60, Reason.RATE_LIMITED)
    short = Cooldown(CLOCK.now() + 4, Reason.FAILING)
    assert await cooldowns.cool(one, long) == {one: long}
    assert await cooldowns.cool(fingerprint("key-two"), short)
    assert degraded == ["writing a cooldown: away"] * 2
    assert await store.cooldowns() == {}
    await asyncio.sleep(5)
    store.is_away = False
    assert await cooldowns.cooldowns() == {one: long}
    await asyncio.sleep(0.1)
    assert await store.cooldowns() == {one: long}
    await cooldowns.circuit.aclose()
