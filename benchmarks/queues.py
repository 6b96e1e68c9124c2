"""What the filters of the operator's list take with a million chats in SQLite, and what opening a
chat takes beside them.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from statistics import median, quantiles

from kefu.sessions.store.model import NewMessage, Retention, Session, SessionId, TurnOutcome
from kefu.sessions.store.overview import SessionFilter
from kefu.sessions.store.ports import Sessions
from kefu.stores.sqlite.migrations import MIGRATIONS, migrate
from kefu.stores.sqlite.store import SqliteStore
from tests.contract.engines import HandClock

BEFORE = 10
"""The version of the schema in which the chats are written. Their conversion is measured."""

DAYS = 30
LOOKS = 100
"""For each filter."""
_NUMBERS = "WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < ? - 1)"
_SESSIONS = (
    f"{_NUMBERS} INSERT INTO sessions (id, config, created, updated, turns, tokens, errors, status,"
    " lease, state, unanswered, ups, downs)"
    " SELECT printf('%032x', n), iif(n % 5003 = 9, 'shop', 'default'), ?2 + n * ?3, ?2 + n * ?3,"
    " 4, 900, n % 20011 = 3, iif(n % 20011 = 3, 'failed', iif(n % 100003 = 5, 'pending', 'ok')), 0,"
    # The chats that wait are the oldest ones.
    " CASE WHEN n < 5 THEN 'waiting' WHEN n % 300007 = 7 THEN 'person' WHEN n % 50 = 1 THEN"
    " 'closed' ELSE 'bot' END, n % 10007 = 11, n % 30 = 2, n % 20021 = 13 FROM n"
)
_TITLES = (
    f"{_NUMBERS} INSERT INTO titles (session, title, user) SELECT printf('%032x', n),"
    " 'How do I get a refund for order ' || n, iif(n % 4 = 0, 'user ' || (n % 250000), '') FROM n"
)
_TURNS = (
    f"{_NUMBERS} INSERT INTO turns (session, question_id, status, lease, asked, answered, again,"
    " question, answer) SELECT printf('%032x', n), 7, 'ok', 0, ?2 + n * ?3, ?2 + n * ?3, 0,"
    " 'And where is order ' || n || ' now?', 'On its way.' FROM n"
)
"""The newest turn of each chat, whose line the list shows."""
FILTERS = {
    "the newest chats": SessionFilter(),
    "waiting": SessionFilter(state="waiting"),
    "with a person": SessionFilter(state="person"),
    "closed": SessionFilter(state="closed"),
    "the bot answers": SessionFilter(state="bot"),
    "rated down": SessionFilter(rating="down"),
    "rated up": SessionFilter(rating="up"),
    "not answered": SessionFilter(unanswered=True),
    "with errors": SessionFilter(has_error=True),
    "without errors": SessionFilter(has_error=False),
    "status failed": SessionFilter(status="failed"),
    "status interrupted": SessionFilter(status="interrupted"),
    "status pending": SessionFilter(status="pending"),
    "a preset of few chats": SessionFilter(config_id="shop"),
    "used a tool": SessionFilter(tool="used"),
    "a tool failed": SessionFilter(tool="failed"),
    "declined": SessionFilter(tool="declined"),
    "one user": SessionFilter(user="user 40"),
    "rated down, with errors": SessionFilter(rating="down", has_error=True),
    "closed, of one preset": SessionFilter(state="closed", config_id="shop"),
}


def seed(path: Path, chats: int, clock: HandClock) -> None:
    """Write the chats of thirty days as an older version left them."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for pragma in ("page_size = 1024", "journal_mode = OFF", "synchronous = OFF"):
            db.execute(f"PRAGMA {pragma}").fetchall()
        migrate(db, MIGRATIONS[:BEFORE])
        db.execute("BEGIN")
        began = clock.now - DAYS * 86400
        db.execute(_SESSIONS, (chats, began, DAYS * 86400 / chats))
        db.execute(_TITLES, (chats,))
        db.execute(_TURNS, (chats, began, DAYS * 86400 / chats))
        db.execute("COMMIT")


def cost(path: Path) -> tuple[float, float]:
    """The seconds of the conversion, and the megabytes of the indexes."""
    before, began = path.stat().st_size, time.perf_counter()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL").fetchall()
        migrate(db)
        seconds = time.perf_counter() - began
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return seconds, (path.stat().st_size - before) / 1e6


async def turn(store: Sessions, clock: HandClock, number: int) -> None:
    """One turn of a new chat, without errors."""
    clock.now += 1
    name, now = SessionId(f"f{number:031x}"), clock.now
    asked = NewMessage("Where is my parcel?", "client")
    begun = await store.begin(Session(name, "title", "default", now, now), asked, now)
    await store.finish(name, begun.message.id, TurnOutcome("ok", "On its way."), now)


async def opening(store: Sessions, name: SessionId, now: float) -> float:
    """Read what the panel shows of a chat. Returns the seconds that it waited."""
    began = time.perf_counter()
    assert await store.session(name)
    assert await store.messages(name, limit=50, now=now)
    await store.calls(name)
    await store.contacts_of(name)
    return time.perf_counter() - began


def spread(milliseconds: list[float]) -> str:
    return f"{median(milliseconds):8.1f} ms, p99 {quantiles(milliseconds, n=100)[98]:.1f}"


async def measured(chats: int, folder: Path) -> str:
    clock, path = HandClock(), folder / "chats.sqlite3"
    seed(path, chats, clock)
    seconds, megabytes = cost(path)
    lines = [
        f"{chats:,} chats in SQLite; the processor's milliseconds for a page of 50",
        f"  {'to convert an older file':40} {seconds:8.1f} s, {megabytes:.0f} MB more",
    ]
    store = SqliteStore(path, clock)
    sessions = store.sessions(Retention(session=60 * 86400, raw=86400))
    await sessions.newest(SessionFilter(), None, 50, clock.now)
    opened = list[float]()
    for name, wanted in FILTERS.items():
        used = list[float]()
        rows = len((await sessions.newest(wanted, None, 50, clock.now)).rows)
        for number in range(LOOKS):
            began = time.process_time()
            await sessions.newest(wanted, None, 50, clock.now)
            used.append(1000 * (time.process_time() - began))
            beside = SessionId(f"{(number * 7919) % chats:032x}")
            _, waited = await asyncio.gather(
                sessions.newest(wanted, None, 50, clock.now), opening(sessions, beside, clock.now)
            )
            opened.append(1000 * waited)
        lines.append(f"  {name:40} {spread(used)}, {rows} rows")
    lines.append(f"  {'to open a chat beside a list, waited':40} {spread(opened)}")
    began = time.process_time()
    for number in range(1000):
        await turn(sessions, clock, number)
    lines.append(f"  {'to store a turn':40} {time.process_time() - began:8.2f} ms")
    await store.aclose()
    return "\n".join(lines)


def queues(chats: int) -> str:
    with tempfile.TemporaryDirectory(prefix="kefu-bench-") as folder:
        return asyncio.run(measured(chats, Path(folder)))
