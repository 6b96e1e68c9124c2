"""Faults of the SQLite file (D11): locked, full, corrupt, moved; it is used again soon."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from kefu.chat.limits import Rate
from kefu.errors import StoreUnavailable
from kefu.relay.key_pool import Cooldown, Reason, fingerprint
from kefu.stores.guarded.cooldowns import GuardedCooldowns
from kefu.stores.guarded.limits import GuardedLimits
from kefu.stores.memory import MemoryStore
from kefu.stores.sql.database import writing
from kefu.stores.sqlite.migrations import MIGRATIONS
from kefu.stores.sqlite.store import SqliteStore
from kefu.stores.sqlite.turn_taking import MAX_PAUSE_SECONDS, Turn
from tests.contract.child import Child
from tests.contract.engines import settled

ONE = fingerprint("key-one")
RATE = Rate(3, 86400.0)
FULL = 1024
"""Bytes: no -wal that holds a page is shorter, and no -shm can be made anew, which has 32768."""

HOLD = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    db.execute(statement)
print("held", flush=True)
sys.stdin.read()
"""


def cooling(seconds: float = 60.0) -> Cooldown:
    return Cooldown(time.time() + seconds, Reason.RATE_LIMITED)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kefu.sqlite3"


@pytest.fixture
async def store(file: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(file, time.time, busy_timeout=0.5)
    yield store
    await store.aclose()


READERS_TOO = ("PRAGMA locking_mode = EXCLUSIVE", "BEGIN EXCLUSIVE")
WRITERS = ("BEGIN IMMEDIATE",)


@contextlib.contextmanager
def locked(file: Path, against: tuple[str, ...]) -> Iterator[None]:
    """Another process has locked the file exclusively."""
    command = [sys.executable, "-c", HOLD, str(file), *against]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"held\n"
        yield
        process.communicate()


async def test_a_locked_file_is_unavailable_then_back(store: SqliteStore, file: Path) -> None:
    mine = cooling()
    with locked(file, READERS_TOO):
        for call in (store.cooldowns(), store.cool(ONE, mine), store.take("visitor", RATE)):
            with pytest.raises(StoreUnavailable, match=r"kefu\.sqlite3: database is locked"):
                await call
    assert await store.cool(ONE, mine) == {ONE: mine}
    assert await store.take("visitor", RATE) == 0


async def test_a_writer_waits_for_another_one_without_stopping_the_loop(
    store: SqliteStore, file: Path
) -> None:
    await store.cooldowns()
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        write = asyncio.create_task(store.cool(ONE, cooling()))
        gaps = []
        for _ in range(20):
            before = time.monotonic()
            await asyncio.sleep(0.01)
            gaps.append(time.monotonic() - before)
        assert not write.done()
        assert sorted(gaps)[10] < 0.5
        other.execute("COMMIT")
        assert ONE in await write


async def test_a_writer_waits_for_a_short_lock_without_the_worker_thread(
    store: SqliteStore, file: Path
) -> None:
    """The thread holds the lock longer, so under overload all calls would end there."""
    await store.cooldowns()
    attempts = 0

    def write(db: sqlite3.Connection) -> threading.Thread:
        nonlocal attempts
        attempts += 1
        with writing(db):
            return threading.current_thread()

    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        call = asyncio.create_task(store._file.run(write))
        while attempts < 2:  # noqa: ASYNC110
            await asyncio.sleep(0)
        other.execute("COMMIT")
        assert await call is threading.main_thread()


async def test_a_locked_file_does_not_delay_chats(file: Path) -> None:
    """SQLite would wait for a minute. That is far from what a busy machine adds to the calls."""
    degraded: list[str] = []
    store = SqliteStore(file, time.time, busy_timeout=60.0)
    cooldowns = GuardedCooldowns(store, time.time, on_degraded=degraded.append, pause=0.2)
    limits = GuardedLimits(store, MemoryStore(time.time), cooldowns.circuit)
    mine = cooling()
    # With the long limit: a busy machine may need more than a chat's time to open the file.
    assert await cooldowns.circuit.succeeds("opening", store.take("visitor", RATE))
    with locked(file, WRITERS):
        started = time.monotonic()
        assert await limits.take("visitor", RATE) == 0
        assert await cooldowns.cool(ONE, mine) == {ONE: mine}
        assert await cooldowns.cooldowns() == {ONE: mine}
        with pytest.raises(StoreUnavailable):
            await limits.reserve("day", 1, 10)
        assert time.monotonic() - started < 30
        assert len(degraded) == 3
    async with asyncio.timeout(15):
        while True:
            if await store.cooldowns() == {ONE: mine}:
                break
            await asyncio.sleep(0.05)
    await cooldowns.circuit.aclose()
    await store.aclose()


def test_a_full_disk_is_unavailable_then_back(file: Path) -> None:
    """The kernel limits the size of the process's files, which simulates a full disk."""
    until = time.time() + 600
    with Child(f"sqlite:///{file}") as child:
        assert child.ask("cool", ONE, until, "failing") == {ONE: [until, "failing"]}
        child.ask("limit file size", FULL)
        refused = child.ask("cool", "2" * 12, until, "failing")
        assert "kefu.sqlite3: " in refused["unavailable"], refused
        assert "unavailable" in child.ask("take", "visitor", 3, 60.0, 1)
        child.ask("limit file size", -1)
        assert child.ask("take", "visitor", 3, 60.0, 1) == 1
        assert child.ask("cooldowns") == {ONE: [until, "failing"]}
        assert set(child.ask("cool", "2" * 12, until, "failing")) == {ONE, "2" * 12}
    with contextlib.closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_broken_file_is_unavailable_and_left_as_it_is(file: Path) -> None:
    file.write_bytes(b"not a database, but perhaps somebody's only copy of something" * 20)
    before = file.read_bytes()
    with Child(f"sqlite:///{file}") as child:
        for _ in range(2):
            assert "file is not a database" in child.ask("cooldowns")["unavailable"]
        assert file.read_bytes() == before
        file.rename(file.with_suffix(".broken"))
        assert child.ask("cooldowns") == {}


async def test_a_file_of_a_newer_kefu_is_not_touched(store: SqliteStore, file: Path) -> None:
    await store.cooldowns()
    await store.aclose()
    with contextlib.closing(sqlite3.connect(file)) as db:
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    newer = SqliteStore(file, time.time)
    with pytest.raises(StoreUnavailable, match="newer Kefu"):
        await newer.cooldowns()
    await newer.aclose()


async def test_a_folder_that_cannot_be_made_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    store = SqliteStore(tmp_path / "a file" / "kefu.sqlite3", time.time)
    with pytest.raises(StoreUnavailable, match=r"kefu\.sqlite3"):
        await store.cooldowns()
    await store.aclose()


async def test_a_closed_store_raises_an_error(store: SqliteStore) -> None:
    await store.cooldowns()
    await store.aclose()
    await store.aclose()
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.cooldowns()


async def test_drained_buckets_and_old_budgets_are_forgotten(file: Path) -> None:
    now = 1_764_000_000.0
    store = SqliteStore(file, lambda: now)
    for number in range(300):
        assert await store.take(f"visitor {number}", RATE) == 0
    assert await store.reserve("monday", 1, 10)
    await settled(store._file)
    now += 3 * 86400
    for number in range(300):
        assert await store.take(f"later visitor {number}", RATE) == 0
    await store.settle("thursday", 1)
    await store.aclose()
    with contextlib.closing(sqlite3.connect(file)) as db:
        old = "SELECT count(*) FROM rates WHERE bucket LIKE 'visitor %'"
        assert db.execute(old).fetchone() == (0,)
        assert db.execute("SELECT budget FROM budgets").fetchall() == [("thursday",)]


async def test_m10_a_clean_up_pauses_as_long_as_each_part_took(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And longer while a chat waits for the lock."""
    pauses = list[float]()
    parts = iter((True, True, False))

    def part(_db: sqlite3.Connection) -> bool:
        time.sleep(0.05)
        return next(parts)

    monkeypatch.setattr(store._file._turn, "give", pauses.append)
    store._file.tidying.append(part)
    await store.cooldowns()
    await settled(store._file)
    assert len(pauses) == 2
    assert min(pauses) >= 0.05


def test_m10_a_clean_up_lets_calls_go_first() -> None:
    """It goes on when no call waits for the lock, or after a second."""
    turn, went_on = Turn(), threading.Event()

    def clean_up() -> None:
        turn.give(0.0)
        went_on.set()

    with turn.waiting():
        thread = threading.Thread(target=clean_up)
        thread.start()
        assert not went_on.wait(0.1)
    assert went_on.wait(30)
    thread.join()
    with turn.waiting():
        turn.give(0.0)


def test_m10_a_pause_of_a_clean_up_ends_for_another_call() -> None:
    turn = Turn()
    turn.ask()
    began = time.monotonic()
    turn.give(MAX_PAUSE_SECONDS)
    assert time.monotonic() - began < MAX_PAUSE_SECONDS
