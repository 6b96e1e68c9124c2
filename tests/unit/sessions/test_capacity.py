"""The data that is stored at each level of the store's use. Each change is reported once
(T1, D11).
"""

from __future__ import annotations

import asyncio

import pytest

from kefu.errors import StoreFull, StoreUnavailable
from kefu.sessions.store.capacity import READ_SECONDS, UNLIMITED, Capacity, Level

LIMIT = 1000


class Store:
    """A store with the given use; None: a store without a size."""

    def __init__(self, *, limit: int = LIMIT) -> None:
        self.used: int | None = 0
        self.now = 0.0
        self.read = 0
        self.away = False
        self.told: list[Level] = []
        self.capacity = Capacity(self._read, limit, lambda: self.now, self.told.append)

    async def _read(self) -> int | None:
        self.read += 1
        if self.away:
            raise StoreUnavailable("away")
        return self.used

    async def level(self, used: int | None) -> Level:
        self.used = used
        return (await self.capacity.room()).level


def refused(capacity: Capacity, *, new: bool) -> bool:
    try:
        capacity.admit(new=new)
    except StoreFull as error:
        return (error.status, error.code) == (503, "store_full") and bool(error.retry_after)
    return False


@pytest.mark.parametrize(
    ("used", "level", "bodies", "new", "known"),
    [
        (0, "ok", True, True, True),
        (799, "ok", True, True, True),
        (800, "no_bodies", False, True, True),
        (899, "no_bodies", False, True, True),
        (900, "no_new_chats", False, False, True),
        (999, "no_new_chats", False, False, True),
        (1000, "full", False, False, False),
        (5000, "full", False, False, False),
        (None, "ok", True, True, True),
    ],
)
async def test_t1_each_level_switches_off_a_little_more(
    used: int | None, level: Level, bodies: bool, new: bool, known: bool
) -> None:
    store = Store()
    assert await store.level(used) == level
    assert store.capacity.keeps_bodies is bodies
    assert refused(store.capacity, new=True) is not new
    assert refused(store.capacity, new=False) is not known
    await store.capacity.aclose()


async def test_levels_end_below_their_start_and_are_reported_once() -> None:
    store = Store()
    use = [850, 810, 790, 760, 749, 920, 880, 860, 849, 1000, 1001, 960, 949, 949, 0, 0]
    levels = [await store.level(used) for used in use]
    assert levels == [
        *("no_bodies", "no_bodies", "no_bodies", "no_bodies", "ok"),
        *("no_new_chats", "no_new_chats", "no_new_chats", "no_bodies"),
        *("full", "full", "full", "no_new_chats", "no_new_chats", "ok", "ok"),
    ]
    changes = [one for before, one in zip(["ok", *levels], levels, strict=False) if one != before]
    assert store.told == changes


async def test_the_size_is_read_in_the_background_and_not_for_each_message() -> None:
    store = Store()
    store.used = LIMIT
    for _ in range(100):
        store.capacity.admit(new=True)  # the last reading has no result yet
    assert store.read == 0
    await asyncio.sleep(0)
    assert (store.read, store.told) == (1, ["full"])
    with pytest.raises(StoreFull):
        store.capacity.admit(new=True)
    await asyncio.sleep(0)
    assert store.read == 1
    store.now += READ_SECONDS
    store.used = 0
    with pytest.raises(StoreFull):
        store.capacity.admit(new=True)
    await asyncio.sleep(0)
    store.capacity.admit(new=True)
    await store.capacity.aclose()


async def test_store_that_cannot_be_read_changes_nothing() -> None:
    store = Store()
    await store.level(950)
    store.away = True
    store.capacity.prefetch()
    await asyncio.sleep(0)
    assert not store.capacity.keeps_new_chats
    await store.capacity.aclose()
    assert store.told == ["no_new_chats"]


async def test_without_a_limit_nothing_is_read() -> None:
    store = Store(limit=0)
    for capacity in (store.capacity, UNLIMITED):
        capacity.admit(new=True)
        await asyncio.sleep(0)
        await capacity.aclose()
    assert store.read == 0
    assert await store.level(10**12) == "ok"
