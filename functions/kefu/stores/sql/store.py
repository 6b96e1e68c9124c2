"""Shares cooldowns and limits between all processes that use one SQL database."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kefu.chat.limits import KEPT_SECONDS, SLACK_SECONDS, Granted, Rate, admit, far_from
from kefu.relay.key_pool import Cooldown, Cooldowns, Fingerprint
from kefu.stores.deadlines import BUDGET_LIFE, later, reason_of
from kefu.stores.sql.database import Database, SqlConnection, hold, writing

if TYPE_CHECKING:
    from kefu.sessions.store.model import Retention
    from kefu.stores.sql.sessions import SqlSessions

# One statement each for `admit` and for the check of a budget, because a statement is atomic.
_TAKE = (
    "INSERT INTO rates (bucket, arrival) VALUES (?1, ?2) ON CONFLICT (bucket) DO UPDATE"
    " SET arrival = ?4 + CASE WHEN rates.arrival BETWEEN ?3 AND ?6 THEN rates.arrival ELSE ?3 END"
    " WHERE rates.arrival <= ?5 OR rates.arrival > ?6"
)
_SETTLE = (
    "INSERT INTO budgets (budget, used, expires) VALUES (?1, ?2, ?3) ON CONFLICT (budget)"
    " DO UPDATE SET used = budgets.used + excluded.used, expires = excluded.expires"
)
_RESERVE = f"{_SETTLE} WHERE budgets.used + excluded.used <= ?4 RETURNING used"


class SqlStore:
    """Every method raises StoreUnavailable when the database fails."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._file = database
        self._file.tidying.append(self._forget)
        self._clock = clock

    @property
    def database(self) -> Database:
        return self._file

    def sessions(self, retention: Retention) -> SqlSessions:
        """Return a session store in the same database. `aclose` of this store closes it, too."""
        from kefu.stores.sql.sessions import SqlSessions

        return SqlSessions(self._file, self._clock, retention)

    def warm(self) -> None:
        """Start connecting in a worker thread. Returns at once, and never raises."""
        self._file.warm(_read_cooldowns)

    async def cooldowns(self) -> Cooldowns:
        return await self._file.run(_read_cooldowns)

    async def cool(self, key: Fingerprint, cooldown: Cooldown) -> Cooldowns:
        now = self._clock()

        def work(db: SqlConnection) -> Cooldowns:
            with writing(db):
                hold(db, "cooldowns")
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

        def work(db: SqlConnection) -> float:
            if db.execute(_TAKE, values).rowcount == 1:
                return 0.0
            return max(SLACK_SECONDS, admit(_arrival(db, bucket), rate, now, places)[1])

        return await self._file.run(work)

    async def arrival(self, bucket: str) -> float | None:
        return await self._file.run(lambda db: _arrival(db, bucket))

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
        """Close the database after the running calls end. Later calls raise StoreUnavailable."""
        await self._file.aclose()

    def _forget(self, db: SqlConnection) -> bool:
        """Delete all old buckets and expired budgets, whose rows are small. Returns False."""
        now = self._clock()
        db.execute("DELETE FROM rates WHERE arrival < ?", (now - KEPT_SECONDS,))
        db.execute("DELETE FROM budgets WHERE expires < ?", (now,))
        return False


def _arrival(db: SqlConnection, bucket: str) -> float | None:
    row = db.execute("SELECT arrival FROM rates WHERE bucket = ?", (bucket,)).fetchone()
    return row[0] if row else None


def _read_cooldowns(db: SqlConnection) -> dict[Fingerprint, Cooldown]:
    rows = db.execute("SELECT key, until, reason FROM cooldowns").fetchall()
    return {Fingerprint(key): Cooldown(until, reason_of(reason)) for key, until, reason in rows}
