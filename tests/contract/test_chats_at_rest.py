"""Stored chats in files and tables: sizes, deleted texts, concurrent writers (P33, P36, T29)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import sqlite3
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from kefu.sessions.store.attendance import Attendance, OperatorMessage
from kefu.sessions.store.model import NewMessage, Retention, TurnOutcome
from kefu.sessions.store.ports import Sessions
from kefu.stores.dynamodb.store import DynamoStore
from kefu.stores.sql.sessions import SqlSessions
from kefu.stores.sqlite.migrations import MIGRATIONS
from kefu.stores.sqlite.store import SqliteStore
from tests.contract.chats import DAY, ONE, TWO, body, call, new, response, turn
from tests.contract.child import Child
from tests.contract.engines import HandClock, every_item, new_table, settled

CANARY = "canary-5f3c9a7e1b"
NOISE = "".join(chr(0x4E00 + (n * n * 7919 + n) % 20000) for n in range(4000))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kefu.sqlite3"


@pytest.fixture
async def in_file(file: Path, clock: HandClock) -> AsyncIterator[SqlSessions]:
    store = SqliteStore(file, clock)
    yield store.sessions(Retention())
    await store.aclose()


@pytest.fixture
async def table(
    dynamodb_endpoint: str, clock: HandClock, aws_environment: dict[str, str]
) -> AsyncIterator[DynamoStore]:
    store = await new_table(dynamodb_endpoint, clock, with_ttl=False)
    yield store
    await store.aclose()


async def items_of(table: DynamoStore) -> list[dict[str, Any]]:
    return await table._table.run(lambda: every_item(table._table.client, table.table))


async def a_chat_with_canaries(sessions: Sessions, clock: HandClock) -> None:
    """In every place: title, user, texts, client id, requests, responses, errors, summary, line."""
    session = new(ONE, clock.now, f"title {CANARY}")._replace(user=f"user {CANARY}")
    begun = await sessions.begin(
        session, NewMessage(f"{CANARY} {NOISE}", f"id {CANARY}"), clock.now
    )
    await sessions.finish(ONE, 1, TurnOutcome("ok", f"answer {CANARY} {NOISE}"), clock.now)
    await sessions.rate(ONE, f"id {CANARY}", "down", f"former comment {CANARY} {NOISE[:300]}")
    await sessions.rate(ONE, f"id {CANARY}", "down", f"comment {CANARY}")
    await sessions.save_trim_state(ONE, f"an older summary {CANARY} {NOISE}")
    await sessions.save_trim_state(ONE, f"summary {CANARY} {NOISE[:900]}")
    whole = body([{"role": "user", "content": begun.message.content}], other=f"{CANARY} {NOISE}")
    await sessions.record(call(1, clock.now, 1, whole, response(f"answer {CANARY}")))
    await sessions.record(call(1, clock.now, 2, CANARY.encode(), error=f'{{"e":"{CANARY}"}}'))
    for number in range(12):
        await turn(sessions, clock, f"{CANARY} question {number} {NOISE}", f"{CANARY} {NOISE}")
    await sessions.set_attendance(ONE, Attendance("person", f"operator {CANARY}", clock.now))
    line = OperatorMessage(f"line {CANARY} {NOISE}", f"operator {CANARY}", f"line {CANARY}")
    assert await sessions.add_line(ONE, line, clock.now)


async def test_t29_a_deleted_chat_leaves_no_byte_in_the_file_or_its_log(
    in_file: SqlSessions, clock: HandClock, file: Path
) -> None:
    """While the file is open and in use, and some text is still in the -wal file."""
    await in_file.begin(new(TWO, clock.now), NewMessage("somebody else's, that stays"), clock.now)
    await a_chat_with_canaries(in_file, clock)
    found = [path.name for path in file.parent.iterdir() if CANARY.encode() in path.read_bytes()]
    assert f"{file.name}-wal" in found
    await in_file.delete(ONE)
    clock.now += 1
    await in_file.begin(new(TWO, 0.0), NewMessage("goes on"), clock.now)
    files = {path.name: path.read_bytes() for path in file.parent.iterdir()}
    assert set(files) == {file.name, f"{file.name}-wal", f"{file.name}-shm"}
    assert not [name for name, content in files.items() if CANARY.encode() in content]
    assert not [name for name, content in files.items() if NOISE[:20].encode() in content]
    assert any(b"somebody else's, that stays" in content for content in files.values())


async def test_t29_old_chats_leave_no_byte_behind_without_being_asked_for(
    in_file: SqlSessions, clock: HandClock, file: Path
) -> None:
    """The first call an hour or more after the last clean-up starts the next one."""
    await a_chat_with_canaries(in_file, clock)
    await settled(in_file._file)  # type: ignore[arg-type]
    clock.now += 8 * DAY
    await in_file.session(TWO)
    await settled(in_file._file)  # type: ignore[arg-type]
    with contextlib.closing(sqlite3.connect(file)) as db:
        assert db.execute("SELECT count(*) FROM calls").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM texts").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM turns").fetchone() == (14,)
    clock.now += 23 * DAY
    await in_file.session(TWO)
    await settled(in_file._file)  # type: ignore[arg-type]
    files = {path.name: path.read_bytes() for path in file.parent.iterdir()}
    assert set(files) == {file.name, f"{file.name}-wal", f"{file.name}-shm"}
    assert not [name for name, content in files.items() if CANARY.encode() in content]


async def test_t29_a_deleted_chat_leaves_no_item_in_the_table(
    table: DynamoStore, dynamodb_endpoint: str, clock: HandClock
) -> None:
    sessions = table.sessions(Retention())
    await sessions.begin(new(TWO, clock.now), NewMessage("stays"), clock.now)
    await a_chat_with_canaries(sessions, clock)
    before = await items_of(table)
    assert len([item for item in before if CANARY in repr(item)]) > 13
    await sessions.delete(ONE)
    left = await items_of(table)
    assert not [item for item in left if CANARY in repr(item) or ONE in repr(item)]
    assert len([item for item in left if TWO in repr(item)]) == 3
    await sessions.delete(TWO)
    left = await items_of(table)
    assert {item["pk"]["S"] for item in left} == {"days"}


async def test_a_turn_that_ends_after_its_session_was_deleted_leaves_no_item(
    table: DynamoStore, dynamodb_endpoint: str, clock: HandClock
) -> None:
    """The turn and its call end after the session's item was deleted."""
    sessions = table.sessions(Retention())
    ways = [
        sessions.begin(new(ONE, clock.now), NewMessage("late", f"id {n}"), clock.now)
        for n in range(5)
    ]
    begun = await asyncio.gather(*ways)
    client = boto3.client("dynamodb", endpoint_url=dynamodb_endpoint)
    key = {"pk": {"S": f"session#{ONE}"}, "sk": {"S": "~"}}
    client.delete_item(TableName=table.table, Key=key)
    client.close()
    for one in begun:
        assert await sessions.finish(ONE, one.message.id, TurnOutcome("ok", "x"), clock.now) is None
        await sessions.record(call(one.message.id, clock.now))
    left = {item["pk"]["S"] for item in await items_of(table)}
    assert not [pk for pk in left if ONE in pk]


async def test_t29_every_item_of_a_chat_expires_and_none_before_its_session(
    table: DynamoStore, dynamodb_endpoint: str, clock: HandClock
) -> None:
    """A new turn extends the expiry of all earlier items."""
    sessions = table.sessions(Retention())
    began = last = clock.now
    for _ in range(5):
        await turn(sessions, clock, "question", "answer", f"id {clock.now}")
        await sessions.record(call(1, clock.now, int(clock.now / DAY) % 1000, body([])))
        if last == began:
            await sessions.save_trim_state(ONE, "state")
        last = clock.now
        clock.now += 13 * DAY
    for item in await items_of(table):
        if item["pk"]["S"] == "days":
            continue
        expires = float(item["expires"]["N"])
        if item["pk"]["S"].startswith("calls#"):
            written = float(item["created"]["N"])
            assert math.floor(expires - written) in (7 * 86400, 7 * 86400 + 1)
        else:
            assert last + 30 * DAY - 2 <= expires <= last + 45 * DAY + 1, item


async def test_p33_raw_data_of_a_hundred_turns_is_less_than_a_third_of_what_was_sent(
    in_file: Sessions, clock: HandClock, file: Path
) -> None:
    """With `capture = "all"`: each request repeats twenty messages, and is compressed by itself."""
    history: list[dict[str, str]] = []
    text = sent = 0
    system = {"role": "system", "content": "你是一家网店的客服，态度友好，回答简短。" * 10}
    for number in range(100):
        question, answer = f"第{number}个问题：{NOISE[number:][:40]}？", NOISE[7 * number :][:160]
        begun = await in_file.begin(
            new(ONE, clock.now), NewMessage(question, f"id {number}"), clock.now
        )
        history.append({"role": "user", "content": question})
        whole = body([system, *history[-21:]], temperature=0.5)
        history.append({"role": "assistant", "content": answer})
        await in_file.finish(ONE, begun.message.id, TurnOutcome("ok", answer, 900, 80), clock.now)
        kept = call(begun.message.id, clock.now, 1, whole, response(answer))
        await in_file.record(kept)
        assert (await in_file.calls(ONE))[-1] == kept
        text += len((question + answer).encode())
        sent += len(whole)
        clock.now += 30
    with contextlib.closing(sqlite3.connect(file)) as db:
        [raw] = db.execute("SELECT sum(length(record)) FROM calls").fetchone()
    assert sent > 10 * text
    print(f"{sent / text:.1f} times the text was sent, {raw / text:.2f} of it are kept besides")
    assert raw < sent / 3


def test_eight_processes_on_a_fresh_file_keep_160_of_160_turns(tmp_path: Path) -> None:
    """D11: all processes open the file, migrate it and write to it at the same time."""
    file = tmp_path / "not" / "there" / "kefu.sqlite3"
    with contextlib.ExitStack() as stack:
        children = [stack.enter_context(Child(f"sqlite:///{file}")) for _ in range(8)]
        for child in children:
            child.ask("ready")
        for number, child in enumerate(children):
            child.begin("chat", f"{number:032x}", 20)
        assert [child.answer() for child in children] == [40] * 8
    with contextlib.closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*) FROM turns WHERE status = 'ok'").fetchone() == (160,)
        assert db.execute("SELECT sum(turns), sum(prompt_tokens) FROM days").fetchone() == (
            160,
            320,
        )


def test_d10_a_killed_process_loses_no_answer(tmp_path: Path) -> None:
    """D10: SIGKILL between two writes leaves complete turns and at most one pending turn."""
    file = tmp_path / "kefu.sqlite3"
    for generation in range(3):
        with Child(f"sqlite:///{file}") as child:
            child.ask("chat", f"{generation:032x}", 2)
            child.begin("chat", f"{generation + 100:032x}", 100_000)
            time.sleep(0.1)
    with contextlib.closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        per_session = dict(db.execute("SELECT id, turns FROM sessions").fetchall())
        found = db.execute("SELECT session, count(*) FROM turns GROUP BY session").fetchall()
        assert dict(found) == per_session
        pending = "SELECT session, count(*) FROM turns WHERE status <> 'ok' GROUP BY session"
        assert all(count == 1 for _, count in db.execute(pending).fetchall())
        assert [per_session[f"{generation:032x}"] for generation in range(3)] == [2, 2, 2]


def test_a_file_of_the_version_before_learns_to_keep_chats(tmp_path: Path) -> None:
    """Migration 2 and the later ones, on a file with cooldowns."""
    file = tmp_path / "kefu.sqlite3"
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as db:
        for statement in MIGRATIONS[0].split(";"):
            db.execute(statement)
        db.execute("PRAGMA user_version = 1")
        db.execute("INSERT INTO cooldowns VALUES ('0123456789ab', 4000000000, 'failing')")
    with Child(f"sqlite:///{file}") as child:
        assert child.ask("chat", "0" * 32, 3) == 6
        assert json.dumps(child.ask("cooldowns")) == '{"0123456789ab": [4000000000.0, "failing"]}'
