"""The contract of every LimitStore (C19, T2)."""

from __future__ import annotations

import asyncio
import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kefu.chat.limits import Granted, LimitStore, Rate, admit
from kefu.stores.postgresql.store import PostgresStore
from tests.contract.engines import HandClock, Store, settled

# Eighths of a second are exact as floats, so the store must agree exactly with a model.
eighths = st.integers(1, 80).map(lambda eighths: eighths / 8)
rates = st.builds(lambda n, interval: Rate(n, n * interval), st.integers(1, 6), eighths)
pauses = st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.125, 1.0, 2.5, 30.0]), min_size=1, max_size=15)


@given(rate=rates, pauses=pauses)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_taking_is_the_leaky_bucket_of_admit(
    limit_store: LimitStore, clock: HandClock, rate: Rate, pauses: list[float]
) -> None:
    clock.now = float(int(clock.now) + 1)
    bucket = uuid.uuid4().hex
    arrival: float | None = None
    for pause in pauses:
        clock.now += pause
        new, wait = admit(arrival, rate, clock.now)
        arrival = new if wait == 0 else arrival
        assert await limit_store.take(bucket, rate) == wait


@pytest.mark.parametrize("requests", [7, 14, 30, 97])
async def test_a_whole_burst_passes_and_not_one_more(
    limit_store: LimitStore,
    clock: HandClock,
    requests: int,
) -> None:
    """Also with rounding: these intervals have no exact float."""
    rate = Rate(requests, 60.0)
    waits = [await limit_store.take("burst", rate) for _ in range(requests + 1)]
    assert waits[:-1] == [0.0] * requests
    assert waits[-1] == pytest.approx(rate.interval, abs=0.01)


async def test_the_returned_wait_is_sufficient(limit_store: LimitStore, clock: HandClock) -> None:
    rate = Rate(3, 10.0)
    while (wait := await limit_store.take("visitor", rate)) == 0:
        clock.now += 0.5
    # A refused request does not extend the wait.
    assert [await limit_store.take("visitor", rate) for _ in range(5)] == [pytest.approx(wait)] * 5
    clock.now += wait
    assert await limit_store.take("visitor", rate) == 0


@pytest.mark.parametrize("jump", [3600.0, 10 * 86400.0])
async def test_l8_a_bucket_filled_by_a_clock_far_ahead_is_a_fresh_one(
    limit_store: LimitStore, store: Store, clock: HandClock, jump: float
) -> None:
    rate = Rate(2, 60.0)
    clock.now += jump
    assert [await limit_store.take("jumped", rate) == 0 for _ in range(3)] == [True, True, False]
    if isinstance(store, PostgresStore):
        await settled(store.servers)  # a clean-up with the clock ahead deletes the bucket
    await asyncio.sleep(0.5)  # the upkeep of PostgreSQL begins with the jump, and reads the clock
    clock.now -= jump
    assert [await limit_store.take("jumped", rate) == 0 for _ in range(3)] == [True, True, False]


async def test_l8_a_clock_slightly_ahead_allows_no_second_burst(
    limit_store: LimitStore, clock: HandClock
) -> None:
    rate = Rate(2, 60.0)
    clock.now += 50
    assert [await limit_store.take("skewed", rate) == 0 for _ in range(2)] == [True, True]
    clock.now -= 50
    assert await limit_store.take("skewed", rate) == pytest.approx(80)


async def test_l8_a_clock_an_hour_back_blocks_no_visitor(
    limit_store: LimitStore, clock: HandClock
) -> None:
    rate = Rate(2, 60.0)
    assert [await limit_store.take("back", rate) == 0 for _ in range(3)] == [True, True, False]
    clock.now -= 3600
    assert await limit_store.take("back", rate) == 0
    clock.now += 3600
    assert await limit_store.take("back", rate) == 0


async def test_h25_the_arrival_of_a_bucket_is_known_for_ten_minutes_after_a_request(
    limit_store: LimitStore, store: Store, clock: HandClock
) -> None:
    """By it the panel shows when the visitor's page asked last."""
    rate = Rate(60, 60.0)
    assert await limit_store.arrival("poll") is None
    assert await limit_store.take("poll", rate) == 0
    asked = clock.now
    clock.now += 3.5
    assert await limit_store.take("poll", rate) == 0
    for _ in range(9):
        arrival = await limit_store.arrival("poll")
        assert arrival == pytest.approx(asked + 3.5 + 1, abs=0.01)
        clock.now += 65
        await limit_store.take("other", rate)  # an SQL database may tidy up now
        if isinstance(store, PostgresStore):
            await settled(store.servers)


async def test_buckets_do_not_know_each_other(limit_store: LimitStore, clock: HandClock) -> None:
    rate = Rate(1, 60.0)
    assert await limit_store.take("one", rate) == 0
    assert await limit_store.take("one", rate) > 0
    assert await limit_store.take("two", rate) == 0


async def test_a_hundred_at_once_pass_only_as_far_as_the_limit(
    limit_store: LimitStore, clock: HandClock
) -> None:
    rate = Rate(64, 64.0)
    waits = await asyncio.gather(*(limit_store.take("crowd", rate) for _ in range(100)))
    assert sum(wait == 0 for wait in waits) == 64
    assert all(wait == pytest.approx(1.0) for wait in waits if wait)


async def test_of_a_hundred_reservations_for_the_last_token_one_is_accepted(
    limit_store: LimitStore,
) -> None:
    """T2: the reservations are made at the same time."""
    assert await limit_store.reserve("tokens 2025-11-24", 999, 1000)
    answers = await asyncio.gather(
        *(limit_store.reserve("tokens 2025-11-24", 1, 1000) for _ in range(100))
    )
    assert sum(map(bool, answers)) == 1


async def test_a_reservation_says_what_is_left(limit_store: LimitStore) -> None:
    assert await limit_store.reserve("day", 300, 1000) == Granted(700)
    await limit_store.settle("day", -100)
    assert await limit_store.reserve("day", 800, 1000) == Granted(0)
    assert await limit_store.reserve("day", 1, 1000) is None


async def test_settling_releases_tokens_and_takes_more(limit_store: LimitStore) -> None:
    assert await limit_store.reserve("day", 1000, 1000)
    assert not await limit_store.reserve("day", 1, 1000)
    await limit_store.settle("day", -600)
    assert not await limit_store.reserve("day", 601, 1000)
    assert await limit_store.reserve("day", 600, 1000)
    await limit_store.settle("day", 500)
    assert not await limit_store.reserve("day", 1, 1500)
    assert await limit_store.reserve("day", 1, 1501)


async def test_a_request_over_the_whole_limit_is_never_accepted(
    limit_store: LimitStore,
) -> None:
    assert not await limit_store.reserve("day", 1001, 1000)
    assert await limit_store.reserve("day", 1000, 1000)
    assert not await limit_store.reserve("other day", 1, 0)


async def test_budgets_do_not_know_each_other(limit_store: LimitStore) -> None:
    assert await limit_store.reserve("monday", 1000, 1000)
    assert await limit_store.reserve("tuesday", 1000, 1000)


async def test_settling_an_unknown_budget_counts(limit_store: LimitStore) -> None:
    await limit_store.settle("day", 400)
    assert not await limit_store.reserve("day", 601, 1000)
    assert await limit_store.reserve("day", 600, 1000)
