"""The size of stored chats in each engine, its limit, and how space becomes free (T1)."""

from __future__ import annotations

import asyncio
import resource
from pathlib import Path

import pytest

from kefu.sessions.store.capacity import Capacity, Level
from kefu.sessions.store.model import NewMessage, Retention, SessionId, TurnOutcome
from kefu.sessions.store.ports import Sessions
from kefu.stores.sqlite.connection import LONGEST_LOG
from kefu.stores.sqlite.store import SqliteStore
from tests.contract.chats import DAY, ONE, TWO, ask, call, new, turn
from tests.contract.engines import HandClock, settled
from tests.fakes.chats_in_memory import ChatsInMemory

TEXT = "客" * 5000


async def test_the_size_grows_with_writes_and_shrinks_with_deletions(
    sessions: Sessions, clock: HandClock
) -> None:
    """DynamoDB has no limit, and reports no size."""
    empty = await sessions.used()
    await sessions.begin(new(TWO, clock.now), NewMessage("stays"), clock.now)
    for _ in range(20):
        asked, _ = await turn(sessions, clock, TEXT, TEXT)
        await sessions.record(call(asked.id, clock.now, request=TEXT.encode(), answer="{}"))
    full = await sessions.used()
    await sessions.delete(ONE)
    after = await sessions.used()
    if empty is None:
        assert (full, after) == (None, None)
        return
    assert full is not None
    assert after is not None
    assert 20 * 2 * 2 * len(TEXT) < full - empty < 20 * 10 * len(TEXT)
    assert after - empty < 20_000


def size_of(folder: Path, *names: str) -> int:
    return sum((folder / name).stat().st_size for name in names)


async def test_the_size_of_a_file_is_at_least_its_size_on_disk(
    tmp_path: Path, clock: HandClock
) -> None:
    """Nothing was deleted from the file. The size includes the usual length of the log."""
    store = SqliteStore(tmp_path / "kefu.sqlite3", clock)
    chats = store.sessions(Retention())
    for _ in range(50):
        await turn(chats, clock, TEXT, TEXT)
    await settled(store._file)
    used = await store._file.used()
    taken = size_of(tmp_path, "kefu.sqlite3", "kefu.sqlite3-wal")
    assert taken - 40_000 <= used <= taken + LONGEST_LOG
    await store.aclose()


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.parametrize("text", ["short", TEXT, "x" * 3000])
async def test_the_size_in_memory_is_not_below_the_memory_of_the_process(
    clock: HandClock, text: str
) -> None:
    """The limit would be exceeded if the estimate were too low."""
    chats = ChatsInMemory(clock)
    await turn(chats, clock, "warm", "up")
    before, taken = await chats.memory.used(), resident()
    number = 0
    while await chats.memory.used() - before < 20_000_000:
        name = SessionId(f"{number:032x}")
        begun = await chats.begin(new(name, clock.now), NewMessage(f"{text} {number}"), clock.now)
        await chats.finish(name, begun.message.id, TurnOutcome("ok", text), clock.now)
        number += 1
    counted = await chats.memory.used() - before
    assert resident() - taken < 1.2 * counted


@pytest.mark.parametrize("engine", ["sqlite", "memory"])
async def test_chats_that_expire_make_room_again(
    engine: str, tmp_path: Path, clock: HandClock
) -> None:
    store = SqliteStore(tmp_path / "kefu.sqlite3", clock)
    chats: Sessions
    chats = store.sessions(Retention()) if engine == "sqlite" else ChatsInMemory(clock)
    told: list[Level] = []
    capacity = Capacity(chats.used, 8_000_000, lambda: clock.now, told.append)
    number = 0
    while (await capacity.room()).level != "full":
        name = SessionId(f"{number:032x}")
        await chats.begin(new(name, clock.now), NewMessage(f"{number} {TEXT * 5}"), clock.now)
        number += 1
        clock.now += 1
    assert told == ["no_bodies", "no_new_chats", "full"]
    await settled(store._file)  # no clean-up begins while the file empties its log
    clock.now += 31 * DAY
    await capacity.room()  # the first call after a deletion, which cleans up
    if engine == "sqlite":
        await settled(store._file)
    for _ in range(number if engine == "memory" else 0):
        await asyncio.sleep(0)
    assert (await capacity.room()).level == "ok"
    assert (await ask(chats, clock, "again")).content == "again"
    await store.aclose()
