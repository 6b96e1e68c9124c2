"""Several processes on one store (C15, D3)."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import stat
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest

from kefu.sessions.store.model import NewMessage, Retention, TurnOutcome
from kefu.stores.postgresql.connection import PostgresConnection, conninfo
from kefu.stores.postgresql.store import PostgresStore
from kefu.stores.sql.sessions import RECORD
from kefu.stores.sql.turns import SAVE_STATE
from tests.contract.chats import ONE as CHAT
from tests.contract.chats import new
from tests.contract.child import Child
from tests.contract.engines import new_table
from tests.parts.plugin import each
from tests.parts.postgresql import Postgres

ONE, TWO = "1" * 12, "2" * 12


@pytest.fixture(params=each("sqlite", "postgresql", "dynamodb_local", "dynalite"))
async def shared_store(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    aws_environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[str]:
    """The address of a store that child processes open, too. They find DynamoDB by a variable."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/state/kefu.sqlite3"
        return
    if request.param == "postgresql":
        yield request.getfixturevalue("postgresql").new_schema()
        return
    endpoint = request.getfixturevalue(request.param)
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", endpoint)
    store = await new_table(endpoint, time.time, with_ttl=request.param != "dynalite")
    yield f"dynamodb://{store.table}"
    await store.aclose()


def test_two_processes_see_each_others_cooldowns(shared_store: str) -> None:
    soon, late = time.time() + 60, time.time() + 300.25
    with Child(shared_store) as first, Child(shared_store) as second:
        first.ask("cool", ONE, soon, "rate_limited")
        assert second.sees({ONE: [soon, "rate_limited"]})
        second.ask("cool", ONE, late, "failing")
        second.ask("cool", TWO, soon, "invalid")
        both = {ONE: [late, "failing"], TWO: [soon, "invalid"]}
        assert first.sees(both)
        # D3: the earlier deadline arrives last, and has no effect.
        assert first.ask("cool", ONE, soon, "rate_limited") == both
        assert second.sees(both)


def opened(child: Child, requests: int) -> None:
    """The first request of a crowd, at a time before all others.

    Of two processes at once the later may be counted first. For the time of the earlier one the
    bucket then admits one request fewer.
    """
    assert child.ask("take", "crowd", requests, 86400.0, 1) == 1


def test_two_processes_share_limits(shared_store: str) -> None:
    """T2: no more requests are admitted than with one process."""
    with Child(shared_store) as first, Child(shared_store) as second:
        opened(first, 50)
        second.ask("cooldowns")  # connected
        for child in (first, second):
            child.begin("take", "crowd", 50, 86400.0, 40)
            child.begin("reserve", "day", 10, 1005, 60)
        taken, reserved = zip(*([c.answer(), c.answer()] for c in (first, second)), strict=True)
    assert sum(taken) == 49
    assert sum(reserved) == 100


def test_eight_processes_open_a_fresh_file_at_once(tmp_path: Path) -> None:
    file = tmp_path / "not" / "there" / "kefu.sqlite3"
    until = time.time() + 600
    with contextlib.ExitStack() as stack:
        children = [stack.enter_context(Child(f"sqlite:///{file}")) for _ in range(8)]
        for child in children:
            child.ask("ready")
        for number, child in enumerate(children):
            child.begin("cool", ONE, until + number, "failing")
            child.begin("cool", f"{number:012x}", until, "failing")
        for child in children:
            child.answer()
        for child in children:
            child.answer()
        opened(children[0], 100)
        for child in children:
            child.begin("take", "crowd", 100, 86400.0, 25)
        assert sum(child.answer() for child in children) == 99
        view = children[0].ask("cooldowns")
    assert view[ONE] == [until + 7, "failing"]
    assert {f"{number:012x}" for number in range(8)} < set(view)


def test_the_file_is_its_owners_only(tmp_path: Path) -> None:
    file = tmp_path / "kefu.sqlite3"
    with Child(f"sqlite:///{file}") as child:
        child.ask("cool", ONE, time.time() + 60, "failing")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert set(modes) == {file.name, f"{file.name}-wal", f"{file.name}-shm"}
    assert set(modes.values()) == {0o600}


@pytest.mark.slow
def test_a_killed_writer_leaves_a_whole_file(tmp_path: Path) -> None:
    """D11: SIGKILL between two writes. The file opens again, with all acknowledged messages."""
    file = tmp_path / "kefu.sqlite3"
    for generation in range(5):
        with Child(f"sqlite:///{file}") as child:
            for number in range(40):
                child.begin("cool", f"{generation}{number:011x}", time.time() + 600, "failing")
            answered = child.answer()
        with Child(f"sqlite:///{file}") as reader:
            assert answered.items() <= reader.ask("cooldowns").items()
    with contextlib.closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("engine", each("dynamodb_local", "dynalite"))
async def test_l4_store_that_gave_up_its_connections_opens_new_ones(
    engine: str, request: pytest.FixtureRequest, aws_environment: dict[str, str]
) -> None:
    """As before a snapshot. Calls that are running end first."""
    store = await new_table(request.getfixturevalue(engine), time.time, with_ttl=False)
    await store.settle("before", 1)
    under_way = [asyncio.create_task(store.settle("before", 1)) for _ in range(20)]
    await asyncio.sleep(0)
    await store.disconnect()
    await asyncio.gather(*under_way)
    assert not await store.reserve("before", 1, 21)
    assert await store.reserve("before", 1, 22)
    await store.aclose()


async def test_e1_all_columns_of_one_name_have_one_collation(postgresql: Postgres) -> None:
    """Else the list of a million chats takes seconds: a join would use no index."""
    store = PostgresStore(postgresql.new_schema(), time.time)
    await store.cooldowns()
    rows = await store.database.run(
        lambda db: db.execute(
            "SELECT column_name, coalesce(collation_name, '') FROM information_schema.columns"
            " WHERE table_schema = current_schema() AND data_type = 'text'"
            " AND (column_name = 'session' OR (table_name, column_name) = ('sessions', 'id'))"
        ).fetchall()
    )
    assert len(rows) > 5
    assert {collation for _, collation in rows} == {"C"}
    await store.aclose()


async def test_what_is_saved_while_a_chat_is_deleted_is_deleted_with_it(
    postgresql: Postgres,
) -> None:
    """Another server's statement saw the chat before, and ends after the deletion began."""
    address, now = postgresql.new_schema(), time.time()
    store = PostgresStore(address, time.time)
    chats = store.sessions(Retention())
    begun = await chats.begin(new(CHAT, now), NewMessage("question"), now)
    other = PostgresConnection(conninfo(address, ""), 5.0)
    other.execute("BEGIN IMMEDIATE")
    other.execute(SAVE_STATE, (CHAT, "state", 0.0))
    other.execute(RECORD, (CHAT, begun.message.id, 1, now, b"record", 0.0))
    deleting = asyncio.create_task(chats.delete(CHAT))
    done, _ = await asyncio.wait([deleting], timeout=1)
    other.execute("COMMIT")
    assert not done
    await deleting
    for table in ("trim_states", "calls", "sessions"):
        left = other.execute(f"SELECT count(*) FROM {table}").fetchone()
        assert left == (0,), table
    other.close()
    await store.aclose()


async def test_e1_texts_are_kept_in_a_database_without_an_encoding(postgresql: Postgres) -> None:
    """`initdb` makes one where the system has no locale."""
    name = f"kefu_{uuid.uuid4().hex}"
    with psycopg.connect(postgresql.url, autocommit=True) as db:
        made = f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'"
        db.execute(made.encode())
    store = PostgresStore(postgresql.url.removesuffix("postgres") + name, time.time)
    chats, now = store.sessions(Retention()), time.time()
    begun = await chats.begin(new(CHAT, now), NewMessage("问题"), now)
    await chats.finish(CHAT, begun.message.id, TurnOutcome("ok", "答案"), now)
    kept = await chats.messages(CHAT, now=now)
    assert [one.content for one in kept] == ["问题", "答案"]
    await store.aclose()
