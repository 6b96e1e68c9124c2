"""What a store must not keep after its servers were killed.

Rows without their chat or turn, turns that count as running, connections, and whatever is still
there when all chats have expired.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from kefu.sessions.store.model import LEASE, Retention
from kefu.stores.dynamodb.items import FIRST_TURN, SESSION
from kefu.stores.dynamodb.store import DynamoStore
from kefu.stores.sqlite.store import SqliteStore
from tests.contract.engines import every_item, settled
from tests.fakes.chatting import FILE
from tests.fakes.stage import Stage

if TYPE_CHECKING:
    from kefu.stores.sql.store import SqlStore

YEARS = 10 * 365 * 86400.0

LASTING = {
    "answers",
    "answers_version",
    "cooldowns",
    "days",
    "kefu_schema",
    "secrets",
    "sqlite_sequence",
    "tool_days",
}
"""Tables whose rows outlive all chats. There are as many as days, keys, and answers of people."""

_TURNS = "(SELECT session, question_id FROM turns)"
_ROWS = {
    "chats that are being deleted": "SELECT id FROM sessions WHERE updated = 0",
    "chats without a title": "SELECT id FROM sessions WHERE id NOT IN (SELECT session FROM titles)",
    "chats with another number of turns": (
        "SELECT id FROM sessions WHERE turns <> (SELECT count(*) FROM turns WHERE session = id)"
    ),
    "records without a turn": (
        f"SELECT session FROM calls WHERE (session, message) NOT IN {_TURNS}"
    ),
    "images without a turn": (
        f"SELECT session FROM images WHERE (session, message) NOT IN {_TURNS}"
    ),
    "questions without a turn": (
        f"SELECT session FROM asked WHERE (session, question_id) NOT IN {_TURNS}"
    ),
    "texts without a record": (
        "SELECT session FROM texts WHERE session NOT IN (SELECT session FROM calls)"
    ),
    "running turns": "SELECT session FROM turns WHERE status = 'pending' AND lease > {latest}",
    "running chats": "SELECT id FROM sessions WHERE status = 'pending' AND lease > {latest}",
    "words without a question": "SELECT word FROM ({words}) AS kept WHERE word NOT IN"
    " (SELECT id FROM asked)",
}
"""Statements that find nothing. `latest`: when the leases of the last killed server end."""

_OF_A_CHAT = (
    "SELECT session FROM {} WHERE session <> '' AND session NOT IN (SELECT id FROM sessions)"
)


class _Sql(NamedTuple):
    store: SqlStore
    db: Any
    """Another connection."""
    tables: str
    """A statement for the names of the tables."""
    columns: str
    """A statement for the names of the tables that have a column `session`."""
    words: str
    """A statement for the numbers that the index of words has, as `word`."""


async def leaked(stage: Stage, killed_at: float) -> dict[str, list[Any]]:
    """The kinds of rows that are left, with these rows. All servers have ended.

    `killed_at`: the Unix time of the last kill.
    """
    address = stage.service.environment["KEFU_STORE"]
    if address.startswith("dynamodb:"):
        return await _items_left(stage, address, killed_at + LEASE)
    return await _rows_left(stage, address, killed_at + LEASE)


async def _rows_left(stage: Stage, address: str, latest: float) -> dict[str, list[Any]]:
    now = [time.time()]
    with _opened(stage, address, now) as sql:
        sql.store.sessions(Retention())  # it cleans up, too
        await _tidied(sql.store, now, 61)
        names = {name for (name,) in sql.db.execute(sql.tables).fetchall()}
        assert {"sessions", "turns", "calls", "images", "asked", "word_index"} < names
        given = {"latest": latest, "words": sql.words}
        statements = {kind: text.format(**given) for kind, text in _ROWS.items()}
        for (name,) in sql.db.execute(sql.columns).fetchall():
            if name not in LASTING:
                statements[f"{name} without a chat"] = _OF_A_CHAT.format(name)
        found = {kind: sql.db.execute(text).fetchall() for kind, text in statements.items()}
        await _tidied(sql.store, now, YEARS)
        for name in names - LASTING:
            every = sql.words if name == "word_index" else f"SELECT * FROM {name}"
            rows = sql.db.execute(every).fetchall()
            # SQLite's clean-up writes the row `tidied`.
            found[f"{name} after their time"] = [row[:1] for row in rows if row[0] != "tidied"]
        await sql.store.aclose()
    return {kind: rows[:9] for kind, rows in found.items() if rows}


@contextmanager
def _opened(stage: Stage, address: str, now: list[float]) -> Iterator[_Sql]:
    if address.startswith("postgresql:"):
        # Not at the top: few tests need PostgreSQL.
        import psycopg
        from psycopg.conninfo import conninfo_to_dict

        from kefu.stores.postgresql.store import PostgresStore

        with psycopg.connect(address, autocommit=True, application_name="test") as db:
            _until_gone(db, conninfo_to_dict(address)["application_name"])
            yield _Sql(
                PostgresStore(address, lambda: now[0]),
                db,
                "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()",
                "SELECT table_name FROM information_schema.columns"
                " WHERE table_schema = current_schema() AND column_name = 'session'",
                "SELECT rowid AS word FROM word_index",
            )
        return
    file = stage.service.folder / FILE
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("CREATE VIRTUAL TABLE temp.kept USING fts5vocab(main, word_index, instance)")
        tables = "FROM sqlite_master AS made WHERE type = 'table' AND name NOT LIKE 'word_index_%'"
        yield _Sql(
            SqliteStore(file, lambda: now[0]),
            db,
            f"SELECT name {tables}",
            f"SELECT name {tables} AND 'session' IN"
            " (SELECT name FROM pragma_table_info(made.name))",
            "SELECT DISTINCT doc AS word FROM temp.kept",
        )


def _until_gone(db: Any, application: Any) -> None:
    """Wait until PostgreSQL has ended the connections of the servers, and so their locks."""
    sql = "SELECT state, query FROM pg_stat_activity WHERE application_name = %s"
    deadline = time.monotonic() + 20
    while left := db.execute(sql, (application,)).fetchall():
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


async def _tidied(store: SqlStore, now: list[float], seconds: float) -> None:
    """Let the store clean up after these seconds, as it does by itself."""
    now[0] += seconds
    await store.cooldowns()
    await settled(store._file)  # type: ignore[arg-type]


async def _items_left(stage: Stage, address: str, latest: float) -> dict[str, list[Any]]:
    """DynamoDB deletes items by their attribute `expires`, so each item of a chat must have it."""
    endpoint = stage.service.environment["AWS_ENDPOINT_URL_DYNAMODB"]
    store = DynamoStore(address.rpartition("/")[2], time.time, endpoint=endpoint)
    items = await store._table.run(lambda: every_item(store._table.client, store.table))
    await store.aclose()
    found: dict[str, list[Any]] = {"items without an end": [], "running turns": []}
    for item in items:
        pk, sk = item["pk"]["S"], item["sk"]["S"]
        if pk not in LASTING | {"secret", "queue"} and "expires" not in item:
            found["items without an end"].append((pk, sk))
        if sk == SESSION or sk.startswith(FIRST_TURN):
            is_pending = item["status"]["S"] == "pending"
            if is_pending and float(item["lease"]["N"]) > latest:
                found["running turns"].append((pk, sk))
    return {kind: rows[:9] for kind, rows in found.items() if rows}
