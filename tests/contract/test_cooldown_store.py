"""The contract of every CooldownStore (C15)."""

from __future__ import annotations

import asyncio
import random

from kefu.relay.key_pool import Cooldown, CooldownStore, Fingerprint, KeyPool, Reason, fingerprint
from tests.contract.engines import HandClock, knows

ONE = fingerprint("key-one")
TWO = fingerprint("key-two")


def rest(clock: HandClock, seconds: float, reason: Reason = Reason.RATE_LIMITED) -> Cooldown:
    return Cooldown(clock.now + seconds, reason)


async def test_a_new_store_knows_no_cooldown(cooldown_store: CooldownStore) -> None:
    assert await cooldown_store.cooldowns() == {}


async def test_a_cooldown_is_seen_as_it_was_written(
    cooldown_store: CooldownStore, clock: HandClock
) -> None:
    written = {}
    for number, reason in enumerate(Reason):
        key = fingerprint(f"key-{number}")
        written[key] = rest(clock, 59.987654 + number, reason)
        assert await cooldown_store.cool(key, written[key]) == written
    await knows(cooldown_store, written)


async def test_cooling_returns_the_other_keys_too(
    cooldown_store: CooldownStore, clock: HandClock
) -> None:
    await cooldown_store.cool(ONE, rest(clock, 60))
    view = await cooldown_store.cool(TWO, rest(clock, 90, Reason.FAILING))
    assert view == {ONE: rest(clock, 60), TWO: rest(clock, 90, Reason.FAILING)}
    await knows(cooldown_store, view)


async def test_the_later_deadline_wins_with_its_reason(
    cooldown_store: CooldownStore, clock: HandClock
) -> None:
    await cooldown_store.cool(ONE, rest(clock, 60))
    later = rest(clock, 300, Reason.FAILING)
    assert (await cooldown_store.cool(ONE, later))[ONE] == later
    assert (await cooldown_store.cool(ONE, rest(clock, 120)))[ONE] == later
    await knows(cooldown_store, {ONE: later})


async def test_cooling_again_changes_nothing(
    cooldown_store: CooldownStore, clock: HandClock
) -> None:
    cooldown = rest(clock, 60)
    views = [await cooldown_store.cool(ONE, cooldown) for _ in range(3)]
    same_time = rest(clock, 60, Reason.FAILING)
    assert [*views, await cooldown_store.cool(ONE, same_time)] == [{ONE: cooldown}] * 4


async def test_a_past_cooldown_does_no_harm(
    cooldown_store: CooldownStore, clock: HandClock
) -> None:
    """D4: a past deadline has no effect, whether the store still has it or not."""
    await cooldown_store.cool(ONE, rest(clock, -1))
    pool = KeyPool(["key-one"])
    assert pool.candidates(await cooldown_store.cooldowns(), clock.now) == list(pool.keys)
    await cooldown_store.cool(ONE, rest(clock, 60))
    await knows(cooldown_store, {ONE: rest(clock, 60)})
    assert not pool.candidates(await cooldown_store.cooldowns(), clock.now)
    clock.now += 60
    assert pool.candidates(await cooldown_store.cooldowns(), clock.now) == list(pool.keys)


async def test_concurrent_writers_leave_the_latest_deadline(
    cooldown_store: CooldownStore, clock: HandClock
) -> None:
    deadlines = [rest(clock, seconds) for seconds in random.Random(7).sample(range(1, 3600), 40)]
    others = [Fingerprint(f"{number:012x}") for number in range(10)]
    await asyncio.gather(
        *(cooldown_store.cool(ONE, deadline) for deadline in deadlines),
        *(cooldown_store.cool(other, rest(clock, 60)) for other in others),
    )
    latest = max(deadlines, key=lambda cooldown: cooldown.until)
    expected = {ONE: latest} | {other: rest(clock, 60) for other in others}
    assert await cooldown_store.cool(ONE, deadlines[0]) == expected


async def test_a_deadline_of_a_clock_that_jumped_does_not_hide_a_real_one(
    cooldown_store: CooldownStore, clock: HandClock
) -> None:
    """L8: the clock was an hour ahead, and was set back."""
    clock.now += 3700
    await cooldown_store.cool(ONE, rest(clock, 60))
    clock.now -= 3700
    pool = KeyPool(["key-one"])
    assert pool.candidates(await cooldown_store.cooldowns(), clock.now) == list(pool.keys)
    real = rest(clock, 60, Reason.FAILING)
    assert (await cooldown_store.cool(ONE, real))[ONE] == real
    await knows(cooldown_store, {ONE: real})
