"""H21, M1: the operator's filters, in every store, and what they read of an SQLite file."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.queues import BEFORE, FILTERS, seed
from kefu.errors import QueryTimeout, StoreUnavailable
from kefu.sessions.store.attendance import Attendance, State
from kefu.sessions.store.model import NewMessage, Retention, Session, SessionId, TurnOutcome
from kefu.sessions.store.overview import Overview, Page, SessionFilter
from kefu.sessions.store.ports import Sessions
from kefu.stores.guarded.circuit import IN_A_ROW
from kefu.stores.guarded.sessions import GuardedSessions
from kefu.stores.sqlite.migrations import MIGRATIONS, migrate
from kefu.stores.sqlite.reader import AT_ONCE
from kefu.stores.sqlite.store import SqliteStore
from kefu.stores.turns import wants
from kefu.tools.use import Use, stored
from tests.contract.chats import ONE, TWO, new, turn
from tests.contract.engines import HandClock
from tests.fakes.chats_in_memory import ChatsInMemory

CHATS, MINUTES = 40, 60
STATES: tuple[tuple[State, ...], ...] = ((), (), ("waiting",), ("person",), ("person", "closed"))
ENDINGS = (
    TurnOutcome("ok", "yes"),
    TurnOutcome("ok", "no", unanswered=True),
    TurnOutcome("partial", "y"),
    TurnOutcome("failed"),
    TurnOutcome("ok", "sent", steps=stored([Use("a", "stock", "{}", state="done")])),
    TurnOutcome("failed", steps=stored([Use("a", "buy", "{}", state="unsure")])),
    TurnOutcome("ok", "no", steps=stored([Use("a", "buy", "{}", state="denied")])),
    None,
)
WANTED = {
    **FILTERS,
    "one user": SessionFilter(user="user 1"),
    "waiting, rated down": SessionFilter(state="waiting", rating="down"),
    "closed, of a user": SessionFilter(state="closed", user="user 0"),
    "a tool failed, rated down": SessionFilter(tool="failed", rating="down"),
    "not answered, failed": SessionFilter(unanswered=True, status="failed"),
}


def ids(number: int) -> SessionId:
    return SessionId(f"{number:032x}")


async def chat(store: Sessions, clock: HandClock, dice: random.Random, number: int) -> None:
    """A chat of several turns over some hours, in any state, with any rating."""
    now, user = clock.now, dice.choice(("", "user 0", "user 1"))
    session = Session(ids(number), "title", dice.choice(("default", "shop")), now, now, user=user)
    for at in range(dice.randint(1, 3)):
        begun = await store.begin(session, NewMessage("question", f"client {at}"), clock.now)
        if ended := dice.choice(ENDINGS):
            await store.finish(ids(number), begun.message.id, ended, clock.now)
        clock.now += dice.choice((1, 900))
    for rating in dice.choice(((), ("up",), ("down",), ("down", "up"), ("down", None))):
        await store.rate(ids(number), "client 0", rating)
    for state in dice.choice(STATES):
        await store.set_attendance(ids(number), Attendance(state, "Ingrid", clock.now))


async def listed(store: Sessions, wanted: SessionFilter, now: float, limit: int) -> list[Overview]:
    """All rows, as the panel gets them."""
    rows: list[Overview] = []
    cursor: str | None = None
    for _ in range(100):
        page = await store.newest(wanted, cursor, limit, now)
        rows += page.rows
        if (cursor := page.cursor) is None:
            return rows
    raise AssertionError("the list does not end")


@pytest.mark.slow
async def test_h21_every_filter_lists_its_chats_newest_first_and_no_other(
    sessions: Sessions, clock: HandClock
) -> None:
    """Compared with the list without a filter. Chats change, are used again and are deleted."""
    dice = random.Random(21)
    for number in range(CHATS):
        await chat(sessions, clock, dice, number)
    for number in range(0, CHATS, 7):
        await sessions.delete(ids(number))
    for number in range(1, CHATS, 5):
        if session := await sessions.session(ids(number)):
            await sessions.begin(session, NewMessage("again"), clock.now)
    clock.now += 1
    every = await listed(sessions, SessionFilter(), clock.now, 50)
    assert len(every) == CHATS - len(range(0, CHATS, 7))
    middle = every[len(every) // 2].session.updated_at
    for name, wanted in WANTED.items():
        for since, until in ((None, None), (middle, None), (None, middle)):
            asked = wanted._replace(since=since, until=until)
            expected = [row for row in every if wants(asked, row)]
            assert await listed(sessions, asked, clock.now, 3) == expected, (name, since, until)


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """20,000 chats of the version before; those that wait are the oldest."""
    path = tmp_path / "kefu.sqlite3"
    seed(path, 20_000, HandClock())
    return path


async def test_m1_a_filter_reads_no_more_chats_than_its_page_has(
    many: Path, clock: HandClock
) -> None:
    """In instructions of SQLite, of which a scan of these chats takes over 100,000."""
    store = SqliteStore(many, clock)
    read = store._file._reader._query
    steps = 0

    def counted(work, ended):  # type: ignore[no-untyped-def]
        def count() -> None:
            nonlocal steps
            steps += 1

        def with_counter(db: sqlite3.Connection) -> object:
            db.set_progress_handler(count, 1000)
            return work(db)

        return read(with_counter, ended)

    store._file._reader._query = counted  # type: ignore[method-assign]
    sessions = store.sessions(Retention(session=60 * 86400))
    for name, wanted in FILTERS.items():
        before = steps
        await sessions.newest(wanted, None, 50, clock.now)
        assert steps - before < 20, name
    assert [
        row.session.id
        for row in await listed(sessions, SessionFilter(state="waiting"), clock.now, 9)
    ]
    await store.aclose()


_KILLED = """
import sqlite3, sys, time
from kefu.stores.sqlite.migrations import MIGRATIONS, migrate
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode = WAL")
def stop(statement):
    if sys.argv[2] in statement:
        print("there", flush=True)
        time.sleep(600)
db.set_trace_callback(stop)
migrate(db)
"""


def kill_in_conversion(path: Path, at: str) -> None:
    command = [sys.executable, "-c", _KILLED, str(path), at]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"there\n"
        process.kill()


@pytest.mark.parametrize("at", ["UPDATE sessions SET bucket", "sessions_downs", "COMMIT"])
async def test_h21_a_conversion_that_is_killed_is_made_again(
    many: Path, clock: HandClock, at: str
) -> None:
    kill_in_conversion(many, at)
    with contextlib.closing(sqlite3.connect(many)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (BEFORE,)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store = SqliteStore(many, clock)
    sessions = store.sessions(Retention(session=60 * 86400))
    assert len(await listed(sessions, SessionFilter(state="waiting"), clock.now, 9)) == 5
    assert len(await listed(sessions, SessionFilter(user="user 40"), clock.now, 9)) == 1
    assert len((await sessions.of_user("user 40", None)).ids) == 1
    await store.aclose()
    with contextlib.closing(sqlite3.connect(many)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


ENDLESS = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) SELECT max(n) FROM n"


def endless(db: sqlite3.Connection) -> object:
    return db.execute(ENDLESS).fetchone()


async def test_m1_a_query_that_nobody_awaits_is_interrupted(
    tmp_path: Path, clock: HandClock
) -> None:
    """The connection and its thread are free again. As many queries as there are threads."""
    store = SqliteStore(tmp_path / "kefu.sqlite3", clock)
    for _ in range(AT_ONCE):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await store._file.read(endless)
    async with asyncio.timeout(30):
        assert await store._file.read(lambda db: db.execute("SELECT 1").fetchone()) == (1,)
    await store.aclose()


async def test_m1_chats_are_opened_stored_and_deleted_while_a_query_runs(
    tmp_path: Path, clock: HandClock
) -> None:
    store = SqliteStore(tmp_path / "kefu.sqlite3", clock)
    sessions = store.sessions(Retention())
    await turn(sessions, clock, "question", "answer")
    query = asyncio.create_task(store._file.read(endless))
    await asyncio.sleep(0.05)
    async with asyncio.timeout(30):
        await sessions.begin(new(TWO, clock.now), NewMessage("question"), clock.now)
        assert await sessions.calls(ONE) == []
        assert len((await sessions.newest(SessionFilter(), None, 9, clock.now)).rows) == 2
        await sessions.delete(ONE)
        assert await sessions.session(ONE) is None
    assert not query.done()
    query.cancel()
    await asyncio.wait({query})
    await store.aclose()


async def test_m1_a_query_cannot_write(tmp_path: Path, clock: HandClock) -> None:
    store = SqliteStore(tmp_path / "kefu.sqlite3", clock)
    with pytest.raises(Exception, match="readonly"):
        await store._file.read(lambda db: db.execute("DELETE FROM sessions").rowcount)
    await store.aclose()


async def test_m1_a_query_creates_no_file(tmp_path: Path, clock: HandClock) -> None:
    """A file that was moved away is not replaced by an empty one that all may read."""
    path = tmp_path / "kefu.sqlite3"
    store = SqliteStore(path, clock)
    await store.cooldowns()
    path.rename(tmp_path / "moved.sqlite3")
    with pytest.raises(StoreUnavailable, match="unable to open"):
        await store.sessions(Retention()).newest(SessionFilter(), None, 9, clock.now)
    assert not path.exists()
    await store.aclose()


class SlowList(ChatsInMemory):
    async def newest(
        self, wanted: SessionFilter, cursor: str | None, limit: int, now: float
    ) -> Page:
        await asyncio.Event().wait()
        raise AssertionError("the list came")


async def test_m1_slow_lists_say_what_to_do_and_close_no_chat(clock: HandClock) -> None:
    """A 503 of the panel. The circuit breaker of the store does not count them."""
    slow = SlowList(clock, Retention())
    guarded = GuardedSessions(slow, on_degraded=pytest.fail, longest_query=0.01)
    for _ in range(IN_A_ROW + 1):
        with pytest.raises(QueryTimeout, match="Narrow the dates") as refused:
            await guarded.newest(SessionFilter(), None, 9, clock.now)
        assert refused.value.status == 503
    assert not guarded.circuit.open
    await guarded.begin(new(ONE, clock.now), NewMessage("question"), clock.now)
    await guarded.circuit.aclose()


def test_h21_the_number_of_a_user_stays_the_same() -> None:
    """It is in the files."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        migrate(db)
        sql = "SELECT bucket_of('anna@example.org'), bucket_of('用户'), bucket_of('')"
        assert db.execute(sql).fetchone() == (57561, 25522, 0)
