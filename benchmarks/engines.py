"""Kept turns in SQLite beside PostgreSQL, and what a million chats in each change.

The engines take turns. A turn is what a message of a chat calls: its session, its beginning, the
history and its end. PostgreSQL's own processes share the machine, and their time is not counted.
"""

from __future__ import annotations

import asyncio
import secrets
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psycopg

from benchmarks.queues import DAYS, FILTERS, cost, seed
from kefu.sessions.store.model import NewMessage, Retention, Session, SessionId, TurnOutcome
from kefu.sessions.store.ports import Sessions
from kefu.stores.postgresql.store import PostgresStore
from kefu.stores.sql.store import SqlStore
from kefu.stores.sqlite.store import SqliteStore
from tests.contract.engines import HandClock
from tests.parts.plugin import free_port
from tests.parts.postgresql import Postgres, programs

QUESTION, ANSWER = "我的包裹到哪里了？" * 4, "您的包裹明天送到。" * 40
AT_ONCE, ROUNDS = 8, 5
KEPT = Retention(session=2 * DAYS * 86400, raw=86400)

_SEED = (
    (
        "INSERT INTO sessions (id, config, created, updated, turns, tokens, errors, status, lease,"
        " state, unanswered, ups, downs) SELECT lpad(to_hex(n), 32, '0'),"
        " CASE WHEN n % 5003 = 9 THEN 'shop' ELSE 'default' END, {began} + n * {step},"
        " {began} + n * {step}, 4, 900, (n % 20011 = 3)::int, CASE WHEN n % 20011 = 3 THEN 'failed'"
        " WHEN n % 100003 = 5 THEN 'pending' ELSE 'ok' END, 0, CASE WHEN n < 5 THEN 'waiting'"
        " WHEN n % 300007 = 7 THEN 'person' WHEN n % 50 = 1 THEN 'closed' ELSE 'bot' END,"
        " (n % 10007 = 11)::int, (n % 30 = 2)::int, (n % 20021 = 13)::int FROM {numbers} AS n"
    ),
    (
        "INSERT INTO titles SELECT lpad(to_hex(n), 32, '0'),"
        " 'How do I get a refund for order ' || n,"
        " CASE WHEN n % 4 = 0 THEN 'user ' || (n % 250000) ELSE '' END FROM {numbers} AS n"
    ),
    (
        "INSERT INTO turns (session, question_id, status, lease, asked, answered, again, question,"
        " answer) SELECT lpad(to_hex(n), 32, '0'), 7, 'ok', 0, {began} + n * {step},"
        " {began} + n * {step}, 0, 'And where is order ' || n || ' now?', 'On its way.'"
        " FROM {numbers} AS n"
    ),
    "ANALYZE",
)
"""The chats of `benchmarks.queues`, in the words of PostgreSQL."""


class Spent(NamedTuple):
    processor: float
    """Milliseconds of this process for a turn, one at a time; so is the next."""
    waited: float
    at_once: float
    """Turns a second, of eight chats at once."""
    processor_at_once: float


async def turn(store: Sessions, name: SessionId, number: int, now: float) -> None:
    known = await store.session(name)
    chat = known or Session(name, QUESTION, "default", now, now)
    begun = await store.begin(chat, NewMessage(QUESTION, f"client {number}"), now)
    await store.messages(name, limit=21, now=now)
    await store.finish(name, begun.message.id, TurnOutcome("ok", ANSWER, 900, 300), now)


async def chat(store: Sessions, turns: int, now: float) -> list[float]:
    """The seconds of each turn of a new chat."""
    name, spent = SessionId(secrets.token_hex(16)), list[float]()
    for number in range(turns):
        started = time.perf_counter()
        await turn(store, name, number, now)
        spent.append(time.perf_counter() - started)
    return spent


async def measure(store: Sessions, turns: int, now: float) -> Spent:
    await chat(store, 30, now)
    before = time.process_time()
    waited = await chat(store, turns, now)
    processor = time.process_time() - before
    before, began = time.process_time(), time.perf_counter()
    await asyncio.gather(*(chat(store, turns // 4, now) for _ in range(AT_ONCE)))
    seconds, many = time.perf_counter() - began, AT_ONCE * (turns // 4)
    return Spent(
        1000 * processor / turns,
        1000 * median(waited),
        many / seconds,
        1000 * (time.process_time() - before) / many,
    )


async def lists(store: Sessions, now: float) -> Sequence[float]:
    """The milliseconds of the first page of each filter's list, the best of three."""
    best = []
    for wanted in FILTERS.values():
        spent = []
        for _ in range(3):
            started = time.perf_counter()
            await store.newest(wanted, None, 50, now)
            spent.append(time.perf_counter() - started)
        best.append(1000 * min(spent))
    return best


def fill(address: str, chats: int, clock: HandClock) -> None:
    """Write the chats of thirty days into the tables of a PostgreSQL store."""
    step = DAYS * 86400 / chats
    places = {"began": clock.now - DAYS * 86400, "step": step}
    with psycopg.connect(address, autocommit=True) as db:
        for sql in _SEED:
            text = sql.format(numbers=f"generate_series(0, {chats - 1})", **places)
            db.execute(text.encode())


async def empty(folder: Path, server: Postgres, turns: int) -> list[str]:
    spent = dict[str, list[Spent]]()
    for number in range(ROUNDS):
        stores: dict[str, SqlStore] = {
            "SQLite": SqliteStore(folder / f"{number}.sqlite3", time.time),
            "PostgreSQL": PostgresStore(server.new_schema(), time.time),
        }
        for name, store in stores.items():
            seen = await measure(store.sessions(Retention()), turns, time.time())
            spent.setdefault(name, []).append(seen)
            await store.aclose()
    return [_line(name, rounds) for name, rounds in spent.items()]


def _line(name: str, rounds: Sequence[Spent]) -> str:
    processor, waited, at_once, processor_at_once = map(median, zip(*rounds, strict=True))
    return f"{name:40}{processor:10.2f}{waited:9.2f}{at_once:11.0f}{processor_at_once:12.2f}"


async def full(folder: Path, server: Postgres, chats: int, turns: int) -> list[str]:
    clock, path, address = HandClock(), folder / "full.sqlite3", server.new_schema()
    seed(path, chats, clock)
    cost(path)
    stores: dict[str, SqlStore] = {
        "SQLite": SqliteStore(path, clock),
        "PostgreSQL": PostgresStore(address, clock),
    }
    await stores["PostgreSQL"].sessions(KEPT).session(SessionId("0" * 32))  # makes the tables
    await asyncio.to_thread(fill, address, chats, clock)
    lines = []
    for name, store in stores.items():
        sessions = store.sessions(KEPT)
        spent = await lists(sessions, clock.now)
        lines.append(
            _line(f"{name} with {chats:,} chats", [await measure(sessions, turns, clock.now)])
        )
        lines.append(
            f"  a page of each list, ms: median {median(spent):.1f}, most {max(spent):.1f}"
        )
        await store.aclose()
    return lines


def engines(turns: int, chats: int) -> str:
    """The table as text. `chats`: of the large stores."""
    heads = ("processor", "waited", "a second", "processor")
    head = (
        f"{'milliseconds of a kept turn':40}{heads[0]:>10}{heads[1]:>9}{heads[2]:>11}{heads[3]:>12}"
    )
    found = programs()
    assert found, "PostgreSQL is not installed. Try: make parts"
    with (
        tempfile.TemporaryDirectory(prefix="kefu-bench-") as name,
        tempfile.TemporaryDirectory(prefix="kefu-postgresql-") as data,
        Postgres(found, Path(data), free_port()).running() as server,
    ):
        lines = asyncio.run(empty(Path(name), server, turns))
        lines += asyncio.run(full(Path(name), server, chats, turns))
    return "\n".join([head, f"{'':40}{'one at a time':>19}{f'{AT_ONCE} at once':>23}", *lines])
