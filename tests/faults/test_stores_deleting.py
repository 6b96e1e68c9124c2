"""T29: texts of deleted chats leave the SQLite file and its log, under load and after a kill."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from kefu.sessions.store.model import Retention, TurnOutcome
from kefu.sessions.store.ports import Sessions
from kefu.stores.sql.rows import AT_ONCE
from kefu.stores.sqlite.connection import LONGEST_LOG
from kefu.stores.sqlite.store import SqliteStore
from tests.contract.chats import ONE, ask
from tests.contract.churn import fill, name_of, numbers_in, text
from tests.contract.engines import HandClock, settled
from tests.parts.plugin import slow

ROOT = Path(__file__).parents[2]
CHATS = 400


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kefu.sqlite3"


@contextlib.contextmanager
def churning(file: Path, count: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.contract.churn", str(file), str(count)]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def confirmed(process: subprocess.Popen[str], at_most: int) -> set[int]:
    """The chats whose deletion was confirmed: all of them, or the first `at_most`."""
    assert process.stdout
    numbers: set[int] = set()
    while len(numbers) < at_most and (line := process.stdout.readline().strip()) != "done":
        assert line, "the process has ended"
        numbers.add(int(line))
    return numbers


def files(file: Path) -> tuple[Path, Path]:
    return file, file.with_name(f"{file.name}-wal")


def size(file: Path) -> int:
    return file.stat().st_size


def alive(file: Path) -> set[str]:
    with contextlib.closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {name for (name,) in db.execute("SELECT id FROM sessions WHERE updated > 0")}


def dead_in(file: Path) -> set[int]:
    """The numbers of deleted chats whose text is still in the files."""
    found = numbers_in(*files(file))
    names = alive(file)
    return {number for number in found if name_of(number) not in names}


def wait_until_empty(file: Path) -> None:
    """Wait until the files contain no text of any chat."""
    end = time.monotonic() + 30
    while numbers_in(*files(file)):
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("chats", [50, slow(200), slow(800)])
def test_t29_chats_deleted_under_load_leave_no_text(file: Path, chats: int) -> None:
    """The file stays open, and there is no extra clean-up."""
    with churning(file, chats) as process:
        deleted = confirmed(process, chats)
        assert deleted == set(range(1, chats, 2))
        assert numbers_in(*files(file)) == set(range(0, chats, 2))
        assert not dead_in(file)


@pytest.mark.slow
@pytest.mark.parametrize("deleted_before", [1, 40, slow(150)])
def test_t29_texts_of_deleted_chats_are_gone_after_a_kill_and_a_restart(
    file: Path, deleted_before: int
) -> None:
    """SIGKILL during other deletions. Those chats are deleted completely or not at all."""
    with churning(file, CHATS) as process:
        deleted = confirmed(process, deleted_before)
        process.kill()
    with churning(file, 0):
        end = time.monotonic() + 30
        while (dead := dead_in(file)) and time.monotonic() < end:
            time.sleep(0.5)  # `dead_in` reads the file, which delays the checkpoint
        assert not dead
        assert not numbers_in(*files(file)) & deleted


@pytest.fixture
def clock() -> HandClock:
    clock = HandClock()
    clock.now = time.time()
    return clock


@pytest.fixture
async def store(file: Path, clock: HandClock) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(file, clock)
    yield store
    await store.aclose()


async def a_long_chat(store: SqliteStore, clock: HandClock, turns: int) -> Sessions:
    chats = store.sessions(Retention())
    for number in range(turns):
        asked = await ask(chats, clock, text(1, "q", 100), f"id-{number}")
        await chats.finish(ONE, asked.id, TurnOutcome("ok", text(1, "a", 800)), clock.now)
    await settled(store._file)
    return chats


@pytest.mark.slow
async def test_the_log_stays_short_while_chats_are_written(store: SqliteStore, file: Path) -> None:
    """20 MB are written. After each 2 MB the clean-up may finish."""
    chats, longest = store.sessions(Retention()), 0
    for start in range(0, 150, 15):
        for number in range(start, start + 15):
            await fill(chats, number)
        await settled(store._file)
        longest = max(longest, size(files(file)[1]))
    assert longest < 1.5 * LONGEST_LOG


async def test_deleting_a_long_chat_lets_writers_in_between(
    store: SqliteStore, clock: HandClock
) -> None:
    """Writers that find the file locked wait in one queue, each for a few rows at most."""
    chats = await a_long_chat(store, clock, 40 * AT_ONCE)
    deleting, turns = asyncio.create_task(chats.delete(ONE)), 0
    while not deleting.done():
        await store._file.run_in_thread(lambda db: db.execute("DELETE FROM days").rowcount)
        turns += 1
    await deleting
    assert turns > 35


async def test_many_deletions_share_a_checkpoint(store: SqliteStore, clock: HandClock) -> None:
    chats = store.sessions(Retention())
    for number in range(60):
        await fill(chats, number)
    await settled(store._file)
    seen: list[str] = []
    await store._file.run_in_thread(lambda db: db.set_trace_callback(seen.append))
    await asyncio.gather(*(chats.delete(name_of(number)) for number in range(60)))
    assert not [number for number in range(60) if await chats.session(name_of(number))]
    checkpoints = [statement for statement in seen if "TRUNCATE" in statement]
    assert 0 < len(checkpoints) < 10


@pytest.mark.slow
async def test_a_deletion_during_a_backup_succeeds_and_leaves_the_log_afterwards(
    store: SqliteStore, clock: HandClock, file: Path
) -> None:
    chats = await a_long_chat(store, clock, 5)
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as backup:
        backup.execute("BEGIN")
        backup.execute("SELECT count(*) FROM turns").fetchall()
        await ask(chats, clock, text(1, "q", 100))
        await chats.delete(ONE)
        assert await chats.session(ONE) is None
        assert numbers_in(*files(file)) == {1}, "or the backup would not be one of a moment"
    await asyncio.to_thread(wait_until_empty, file)
