"""What an operator waits for in the panel, with many chats in SQLite, and what it costs a turn."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

from kefu.sessions.store.model import NewMessage, Retention, Session, SessionId, TurnOutcome
from kefu.sessions.store.overview import SessionFilter
from kefu.sessions.store.ports import Sessions
from kefu.stores.sql import words
from kefu.stores.sqlite.connection import set_up
from kefu.stores.sqlite.store import SqliteStore
from kefu.web.admin.insights import insights
from tests.contract.engines import HandClock

DAYS = 30
SUBJECTS = (
    "a refund",
    "my parcel",
    "the invoice",
    "退款",
    "运费",
    "a password",
    "the warranty",
    "发票",
)
ANSWER = (
    "You can return the goods within thirty days of the delivery, and we will pay back the whole "
    "price to the same card. Please write your order number on the form that lies in the parcel."
)


async def seed(store: Sessions, clock: HandClock, chats: int) -> float:
    """Chats of thirty days. Returns the processor's milliseconds for a turn."""
    began = time.process_time()
    for number in range(chats):
        clock.now += DAYS * 86400 / chats
        now, name = clock.now, SessionId(f"{number:032x}")
        text = f"How do I get {SUBJECTS[number % 8]} for order {number % 977}?"
        session = Session(name, text[:40], "default", now, now)
        begun = await store.begin(session, NewMessage(text, "client"), now)
        ended = TurnOutcome("ok", ANSWER, 900, 60, number % 50 == 7, 0.8)
        await store.finish(name, begun.message.id, ended, now)
        if number % 25 == 3:
            await store.rate(name, "client", "down" if number % 75 == 3 else "up")
    return 1000 * (time.process_time() - began) / chats


async def seconds(work: Callable[[], Awaitable[object]]) -> float:
    """The best of three."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        await work()
        times.append(time.perf_counter() - began)
    return min(times)


def index(path: Path) -> tuple[float, int]:
    """The processor's milliseconds for all turns that were not indexed, and the bytes."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        set_up(db)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        before, began = path.stat().st_size, time.process_time()
        while words.add_some(db):
            pass
        used = 1000 * (time.process_time() - began)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return used, path.stat().st_size - before


async def measured(chats: int, folder: Path) -> str:
    clock = HandClock()
    path = folder / "chats.sqlite3"
    store = SqliteStore(path, clock)
    sessions = store.sessions(Retention(session=60 * 86400, raw=86400))
    turn = await seed(sessions, clock, chats)
    await store.aclose()
    indexed, grown = (one / chats for one in index(path))
    store = SqliteStore(path, clock)
    sessions = store.sessions(Retention(session=60 * 86400, raw=86400))
    today = time.strftime("%Y-%m-%d", time.gmtime(clock.now))
    since = time.strftime("%Y-%m-%d", time.gmtime(clock.now - (DAYS - 1) * 86400))

    def page(**wanted: object) -> Callable[[], Awaitable[object]]:
        return lambda: sessions.newest(SessionFilter(**wanted), None, 50, clock.now)  # type: ignore[arg-type]

    rows = {
        "open the insights": lambda: insights(sessions, since, today, clock.now),
        "the newest chats": page(),
        "the chats that are rated down": page(rating="down"),
        "a word in one chat of eight": page(text="warranties"),
        "a word in Chinese": page(text="退款"),
        "two words, in one chat of a thousand": page(text="invoices 17"),
        "a word in no chat": page(text="nowhere"),
    }
    lines = [f"{chats:,} chats with one turn each, in SQLite"]
    for name, work in rows.items():
        lines.append(f"  {name:40} {1000 * await seconds(work):8.1f} ms")
    lines.append(f"  {'to store a turn, processor':40} {turn:8.2f} ms")
    lines.append(f"  {'to index it later, processor':40} {indexed:8.2f} ms")
    lines.append(f"  {'the file grows by the index of a turn':40} {grown:8.0f} bytes")
    await store.aclose()
    return "\n".join(lines)


def panel(chats: int) -> str:
    with tempfile.TemporaryDirectory(prefix="kefu-bench-") as folder:
        return asyncio.run(measured(chats, Path(folder)))
