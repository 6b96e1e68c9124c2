"""Moving a whole store between SQLite and PostgreSQL (scale E1)."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from kefu.errors import StoreUnavailable
from kefu.sessions.store.attendance import Attendance, OperatorMessage
from kefu.sessions.store.model import NewMessage, Retention, SessionId, TurnOutcome
from kefu.sessions.store.overview import SessionFilter
from kefu.stores.postgresql.migrations import MIGRATIONS, migrate
from kefu.stores.postgresql.store import PostgresStore
from kefu.stores.sql.moving import move
from kefu.stores.sql.store import SqlStore
from kefu.stores.sqlite.store import SqliteStore
from tests.contract.chats import call, new
from tests.contract.engines import HandClock
from tests.parts.postgresql import Postgres

CHATS = 30


async def fill(store: SqlStore, clock: HandClock) -> None:
    chats = store.sessions(Retention())
    await chats.secret("the key of tokens")
    for number in range(CHATS):
        name = SessionId(f"{number:032x}")
        session = new(name, clock.now)._replace(user="user's \u00fc" if number % 2 else "")
        begun = await chats.begin(session, NewMessage(f"question \0 {number}", "one"), clock.now)
        await chats.finish(name, begun.message.id, TurnOutcome("ok", "answer", 2, 1), clock.now)
        await chats.rate(name, "one", "down", "a comment")
        await chats.record(call(1, clock.now, request=b"{}")._replace(session_id=name))
    await chats.set_attendance(f"{0:032x}", Attendance("person", "Ada", clock.now))
    await chats.add_line(f"{0:032x}", OperatorMessage("Hello", "Ada", "line"), clock.now)
    await store.reserve("today", 5, 10)


async def seen(store: SqlStore, clock: HandClock) -> list[object]:
    chats = store.sessions(Retention())
    found: list[object] = [await chats.secret("another")]
    for number in range(CHATS):
        name = SessionId(f"{number:032x}")
        found += [await chats.session(name), await chats.messages(name, now=clock.now)]
        found.append(await chats.calls(name))
    found.append(await chats.days("2000-01-01", "2999-01-01"))
    while (page := await chats.newest(SessionFilter(text="question"), None, 99, clock.now)).waiting:
        pass
    return [*found, sorted(page.rows, key=lambda row: row.session.id)]


async def test_e1_a_store_moves_to_postgresql_and_back(
    tmp_path: Path, postgresql: Postgres, clock: HandClock
) -> None:
    """Nothing changes, and a move that is repeated changes nothing either."""
    first = SqliteStore(tmp_path / "first.sqlite3", clock)
    second = PostgresStore(postgresql.new_schema(), clock)
    third = SqliteStore(tmp_path / "third.sqlite3", clock)
    await fill(first, clock)
    for source, target in ((first, second), (first, second), (second, third)):
        assert await move(source.database, target.database, lambda *_: None) == []
    expected = await seen(first, clock)
    assert await seen(second, clock) == expected
    assert await seen(third, clock) == expected
    assert not await third.reserve("today", 6, 10)
    for store in (first, second, third):
        await store.aclose()


async def test_e1_a_move_into_a_used_store_tells_the_difference(
    tmp_path: Path, postgresql: Postgres, clock: HandClock
) -> None:
    first = SqliteStore(tmp_path / "first.sqlite3", clock)
    second = PostgresStore(postgresql.new_schema(), clock)
    await fill(first, clock)
    await second.sessions(Retention()).secret("a key of its own")
    found = await move(first.database, second.database, lambda *_: None)
    assert [one.table for one in found] == ["secrets"]
    for store in (first, second):
        await store.aclose()


@pytest.mark.slow
async def test_e1_the_command_moves_a_file(
    tmp_path: Path, postgresql: Postgres, clock: HandClock
) -> None:
    file, schema = tmp_path / "kefu.sqlite3", postgresql.new_schema()
    store = SqliteStore(file, clock)
    await fill(store, clock)
    await store.aclose()
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "kefu", "move", schema],
        env={"KEFU_STORE": f"sqlite:///{file}", "PATH": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("All rows are there.")


async def test_e1_an_older_kefu_refuses_a_newer_schema(
    postgresql: Postgres, clock: HandClock
) -> None:
    store = PostgresStore(postgresql.new_schema(), clock)
    await store.cooldowns()
    newer = (*MIGRATIONS, "CREATE TABLE of_the_future (id integer)")
    await store.database.run(lambda db: migrate(db, newer))
    with pytest.raises(StoreUnavailable, match="from a newer Kefu"):
        await store.database.run(migrate)
    await store.aclose()
