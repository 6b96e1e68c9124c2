"""T29: no text is in a b-tree page of the SQLite file, where a copy could survive its deletion.

SQLite moves rows when it splits or merges b-tree pages, and leaves old bytes in the unused part. It
never moves overflow pages, and overwrites them with zeros when they become free.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import sqlite3
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kefu.agent.events import AgentSessionId as LogId
from kefu.sessions.store.model import Retention
from kefu.stores.sqlite.earlier_logs import logs_in_database
from kefu.stores.sqlite.migrations import MIGRATIONS, PAGE_SIZE, most_in_tree
from kefu.stores.sqlite.store import SqliteStore
from tests.contract.churn import MARK, TURNS, fill, name_of, numbers_in, text

TREES = (2, 5, 10, 13)
"""The first byte of a b-tree page; an overflow page begins with the number of another page."""


def pages(file: Path) -> Iterator[bytes]:
    """The content of every page of the file and of its log, without the file's header."""
    content = file.read_bytes()
    [size] = struct.unpack(">H", content[16:18])
    yield content[100:size]
    yield from (content[at : at + size] for at in range(size, len(content), size))
    log = file.with_name(f"{file.name}-wal").read_bytes()
    for at in range(32, len(log), 24 + size):
        [number] = struct.unpack(">I", log[at : at + 4])
        yield log[at + 24 + (100 if number == 1 else 0) : at + 24 + size]


def blobs(file: Path) -> set[bytes]:
    """A few bytes of each compressed record and text."""
    with contextlib.closing(sqlite3.connect(file)) as db:
        found = db.execute("SELECT record FROM calls UNION SELECT text FROM texts").fetchall()
    return {blob[-40:-8] for (blob,) in found if len(blob) > 64}


def counted(file: Path) -> tuple[int, int]:
    """The number of b-tree pages and of other pages that contain text."""
    pieces, found = blobs(file), [0, 0]
    for page in pages(file):
        if MARK.search(page) or any(piece in page for piece in pieces):
            found[page[0] not in TREES] += 1
    return found[0], found[1]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kefu.sqlite3"


@contextlib.contextmanager
def older(file: Path, page_size: int = 4096) -> Iterator[sqlite3.Connection]:
    """A file in the format of schema version 4."""
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute(f"PRAGMA page_size = {page_size}")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA secure_delete = ON").fetchall()
        for step in MIGRATIONS[:4]:
            for statement in step.split(";"):
                db.execute(statement)
        db.execute("PRAGMA user_version = 4")
        yield db


LOGS = 40


def log_of(number: int) -> LogId:
    return LogId(f"sess_{number:026}")


def old_chat(db: sqlite3.Connection, number: int, turn: int) -> None:
    """Write one turn in the format and order of schema version 4."""
    dice, name, client = random.Random(f"{number} {turn}"), name_of(number), f"id-{turn}"
    question, answer = text(number, "q", dice.randrange(600)), text(number, "a", 2000)
    now, title = time.time(), text(number, "title", 40)
    place = (name, 2 * turn + 1)
    db.execute(
        "INSERT INTO sessions VALUES (?, ?, 'default', ?, ?, 1, 0, 0, 'ok', 0) ON CONFLICT (id)"
        " DO UPDATE SET turns = turns + 1",
        (name, title, now, now),
    )
    asked = (*place, question, now, client)
    db.execute("INSERT INTO turns VALUES (?, ?, ?, 'pending', 0, ?, ?, '', 0, NULL, 0)", asked)
    db.execute(
        "UPDATE turns SET answer = ? WHERE session = ? AND question_id = ?", (answer, *place)
    )
    db.execute("INSERT INTO calls VALUES (?, ?, 1, ?, ?)", (*place, now, question.encode()))
    db.execute("INSERT INTO texts VALUES (?, ?, ?)", (name, f"digest {turn}", answer.encode()))
    if number < LOGS:
        line = (log_of(number), turn, question.encode(), now)
        db.execute("INSERT INTO event_lines VALUES (?, ?, ?, ?)", line)


async def in_many_chats(store: SqliteStore, count: int) -> None:
    chats = store.sessions(Retention())
    numbers = iter(range(count))

    async def some() -> None:
        for number in numbers:
            await fill(chats, number)

    await asyncio.gather(*(some() for _ in range(8)))


@pytest.mark.slow
async def test_t29_texts_of_chats_are_on_overflow_pages_only(file: Path) -> None:
    """Titles, questions, images, answers and records of calls."""
    store = SqliteStore(file, time.time)
    await in_many_chats(store, 60)
    in_trees, elsewhere = counted(file)
    assert elsewhere > 60 * TURNS
    assert in_trees == 0
    with contextlib.closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA page_size").fetchone() == (PAGE_SIZE,)
        [(tables,)] = db.execute(
            "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%fill BLOB%'"
        ).fetchall()
    assert tables == 9
    await store.aclose()


@pytest.mark.parametrize("page_size", [512, 1024, 4096, 32768, 65536])
def test_t29_as_much_of_a_row_as_fits_a_tree_page_is_filled(file: Path, page_size: int) -> None:
    """For many lengths of text, because each one splits a row at another position."""
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute(f"PRAGMA page_size = {page_size}")
        fill = f"fill BLOB DEFAULT (zeroblob({most_in_tree(page_size)}))"
        db.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, {fill}, text TEXT) WITHOUT ROWID")
        sizes = range(1, 2 * page_size, max(1, page_size // 200))
        db.execute("BEGIN")
        for size in sizes:
            db.execute("INSERT INTO t (id, text) VALUES (?, ?)", (size, "<1:q>" + "x" * size))
        db.execute("COMMIT")
    content = file.read_bytes()
    trees = [
        page
        for at in range(0, len(content), page_size)
        if (page := content[at + (0 if at else 100) : at + page_size])[0] in TREES
    ]
    assert len(trees) > 10
    assert not [page for page in trees if b"<1:q>" in page or b"xxx" in page]
    assert content.count(b"<1:q>") == len(sizes)


@pytest.mark.slow
async def test_t29_texts_of_an_old_file_leave_its_trees_too_deleted_ones_among_them(
    file: Path,
) -> None:
    """Remains of deleted chats are removed; stored chats can still be read and deleted."""
    with older(file) as db:
        db.execute("BEGIN")
        for turn in range(3):
            for number in range(300):
                old_chat(db, number, turn)
        db.execute("COMMIT")
        for number in range(0, 300, 2):
            name = name_of(number)
            db.execute("DELETE FROM sessions WHERE id = ?", (name,))
            for table in ("turns", "calls", "texts"):
                db.execute(f"DELETE FROM {table} WHERE session = ?", (name,))
            db.execute("DELETE FROM event_lines WHERE session = ?", (log_of(number),))
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    kept = set(range(1, 300, 2))
    assert numbers_in(file) > kept, "the version before leaves copies: else this shows nothing"
    store = SqliteStore(file, time.time)
    chats = store.sessions(Retention())
    for number in kept:
        chat = await chats.session(name_of(number))
        assert chat
        assert chat.title == text(number, "title", 40)
        messages = await chats.messages(name_of(number), now=time.time())
        assert [one.content for one in messages[1::2]] == [text(number, "a", 2000)] * 3
    assert len(logs_in_database(file)) == len([number for number in kept if number < LOGS])
    await chats.delete(name_of(0))  # was deleted before; this call empties the log
    log = file.with_name(f"{file.name}-wal")
    assert numbers_in(file, log) == kept
    assert counted(file)[0] == 0
    for number in kept:
        await chats.delete(name_of(number))
    with contextlib.closing(sqlite3.connect(file)) as db, db:
        db.execute("PRAGMA secure_delete = ON").fetchall()
        db.execute("DELETE FROM event_lines")
    await chats.delete(name_of(0))
    assert not numbers_in(file, log)
    await store.aclose()
