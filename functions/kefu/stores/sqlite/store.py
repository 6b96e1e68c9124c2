"""Shares cooldowns and limits between all processes of one machine, in one SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from kefu.chat.limits import SLACK_SECONDS, Granted, Rate, admit, far_from
from kefu.relay.key_pool import Cooldown, Cooldowns, Fingerprint
from kefu.stores.deadlines import BUDGET_LIFE, later, reason_of
from kefu.stores.sqlite.connection import writing
from kefu.stores.sqlite.file import SqliteFile

if TYPE_CHECKING:
    from kefu.sessions.store.model import Retention
    from kefu.stores.sqlite.sessions import SqliteSessions

# One statement each for `admit` and for the check of a budget, because a statement is atomic.
_TAKE = (
    "INSERT INTO rates (bucket, arrival) VALUES (?1, ?2) ON CONFLICT (bucket) DO UPDATE"
    " SET arrival = iif(arrival BETWEEN ?3 AND ?6, arrival, ?3) + ?4"
    " WHERE arrival <= ?5 OR arrival > ?6"
)
_SETTLE = (
    "INSERT INTO budgets (budget, used, expires) VALUES (?1, ?2, ?3) ON CONFLICT (budget)"
    " DO UPDATE SET used = used + excluded.used, expires = excluded.expires"
)
_RESERVE = f"{_SETTLE} WHERE used + excluded.used <= ?4 RETURNING used"


class SqliteStore:
    """Every method raises StoreUnavailable for a locked, full, unreadable or corrupt file."""

    def __init__(
        self, path: Path | str, clock: Callable[[], float], *, busy_timeout: float = 2.0
    ) -> None:
        self._file = SqliteFile(path, clock, busy_timeout=busy_timeout)
        self._file.tidying.append(self._forget)
        self._clock = clock

    def sessions(self, retention: Retention) -> SqliteSessions:
        """Return a session store in the same file. `aclose` of this store closes the file too."""
        from kefu.stores.sqlite.sessions import SqliteSessions

        return SqliteSessions(self._file, self._clock, retention)

    def warm(self) -> None:
        """Start opening the file in the worker thread. Returns at once, and never raises."""
        self._file.warm(_read_cooldowns)

    async def cooldowns(self) -> Cooldowns:
        return await self._file.run(_read_cooldowns)

    async def cool(self, key: Fingerprint, cooldown: Cooldown) -> Cooldowns:
        now = self._clock()

        def work(db: sqlite3.Connection) -> Cooldowns:
            with writing(db):
                view = _read_cooldowns(db)
                view[key] = kept = later(view.get(key), cooldown, now)
                db.execute(
                    "INSERT OR REPLACE INTO cooldowns (key, until, reason) VALUES (?, ?, ?)",
                    (key, kept.until, kept.reason.value),
                )
            return view

        return await self._file.run(work)

    async def take(self, bucket: str, rate: Rate, places: int = 1) -> float:
        now, cost = self._clock(), places * rate.interval
        latest = now + rate.ahead(places) + SLACK_SECONDS
        values = (bucket, now + cost, now, cost, latest, far_from(rate, now))

        def work(db: sqlite3.Connection) -> float:
            if db.execute(_TAKE, values).rowcount == 1:
                return 0.0
            row = db.execute("SELECT arrival FROM rates WHERE bucket = ?", (bucket,)).fetchone()
            return max(SLACK_SECONDS, admit(row[0] if row else None, rate, now, places)[1])

        return await self._file.run(work)

    async def reserve(self, budget: str, amount: int, limit: int) -> Granted | None:
        if amount > limit:
            return None
        values = (budget, amount, self._clock() + BUDGET_LIFE, limit)
        found = await self._file.run(lambda db: db.execute(_RESERVE, values).fetchall())
        return Granted(limit - int(found[0][0])) if found else None

    async def settle(self, budget: str, difference: int) -> None:
        values = (budget, difference, self._clock() + BUDGET_LIFE)
        await self._file.run(lambda db: db.execute(_SETTLE, values).rowcount)

    async def aclose(self) -> None:
        """Close the file after the running call ends. Later calls raise StoreUnavailable."""
        await self._file.aclose()

    def _forget(self, db: sqlite3.Connection) -> bool:
        """Delete all drained buckets and expired budgets, whose rows are small. Returns False."""
        now = self._clock()
        db.execute("DELETE FROM rates WHERE arrival < ?", (now,))
        db.execute("DELETE FROM budgets WHERE expires < ?", (now,))
        return False


def _read_cooldowns(db: sqlite3.Connection) -> dict[Fingerprint, Cooldown]:
    rows = db.execute("SELECT key, until, reason FROM cooldowns").fetchall()
    return {Fingerprint(key): Cooldown(until, reason_of(reason)) for key, until, reason in rows}
