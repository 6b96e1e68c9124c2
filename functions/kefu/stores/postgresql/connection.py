"""A connection to PostgreSQL that takes the stores' statements, which are written for SQLite."""

from __future__ import annotations

import contextlib
import select
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final
from zlib import crc32

import psycopg
from psycopg import RawCursor
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from kefu.errors import StoreUnavailable
from kefu.stores.postgresql.dialect import escaped, joined, restored, translated
from kefu.stores.sql.database import Change

LOCKS: Final = 0x6B656675
"""The class of the advisory locks of chats. Another application in the database has another."""

_TIME_LIMITS: Final = {
    "connect_timeout": "2",
    "tcp_user_timeout": "4000",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "2",
    "application_name": "kefu",
}
"""In seconds, but milliseconds for `tcp_user_timeout`: a server that is gone is given up soon."""

_ENCODING: Final = {"client_encoding": "UTF8"}
"""Otherwise texts of a database in SQL_ASCII are read as bytes."""

_LIMITS: Final = "SET lock_timeout = '3s'; SET idle_in_transaction_session_timeout = '10s'"
"""Not as `options` of the address, which PgBouncer refuses."""


class _WholeNumber(Loader):
    """Sums of `bigint`, which are `numeric`."""

    def load(self, data: Buffer) -> int:
        return int(bytes(data))


class PostgresConnection:
    """Implements `kefu.stores.sql.database.SqlConnection`.

    A transaction begins with its first statement, to save a message to the server.
    """

    def __init__(self, address: str, statement_timeout: float) -> None:
        """`address`: see `conninfo`. `statement_timeout` is in seconds. Raises psycopg.Error."""
        self._db = psycopg.connect(address, autocommit=True)
        own = f"SET statement_timeout = {statement_timeout * 1000:.0f}"
        self._db.execute(f"{_LIMITS}; {own}".encode())
        self._db.adapters.register_loader("numeric", _WholeNumber)
        self._begins = False

    @property
    def pid(self) -> int:
        """The number of the server's process for this connection."""
        return self._db.info.backend_pid

    def is_pooled_with(self, other: PostgresConnection) -> bool:
        """Whether both share processes of the server, by a pooler in transaction mode.

        A transaction of `other` gets the process that was used last.
        """
        process = "SELECT pg_backend_pid()"
        before = self.execute(process).fetchall()
        other.execute("BEGIN")
        other.execute(process)
        after = self.execute(process).fetchall()
        other.execute("COMMIT")
        return before != after

    def told(self, seconds: float) -> Iterator[tuple[int, str]]:
        """The notifications of these seconds: the process that sent each, and its text."""
        for one in self._db.notifies(timeout=seconds):
            yield one.pid, one.payload

    def cancel(self) -> None:
        """End what another thread waits for. Raises no error."""
        with contextlib.suppress(psycopg.Error):
            self._db.cancel()

    @property
    def is_lost(self) -> bool:
        """Whether the server has closed the connection. An idle one has nothing to be read."""
        if self._db.closed:
            return True
        readable, _, _ = select.select([self._db.fileno()], [], [], 0)
        return bool(readable)

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> RawCursor[Any]:
        if sql == "BEGIN IMMEDIATE":
            self._begins = True
            return RawCursor(self._db)
        if self._begins and sql == "COMMIT":
            self._begins = False
            return RawCursor(self._db)
        self._begin()
        cursor = RawCursor(self._db, row_factory=_restored_rows)
        cursor.execute(translated(sql).encode(), escaped(parameters) or None)
        return cursor

    def apply(self, changes: Sequence[Change]) -> None:
        """Run changes of different rows as one statement."""
        self._begin()
        sql = joined(tuple((one, len(parameters)) for one, parameters in changes))
        values = [value for _, parameters in changes for value in parameters]
        RawCursor(self._db).execute(sql.encode(), escaped(values))

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> RawCursor[Any]:
        cursor = RawCursor(self._db)
        for one in parameters:
            cursor = self.execute(sql, one)
        return cursor

    def rollback(self) -> None:
        self._begins = False
        if not self._db.closed:
            self._db.rollback()

    def hold(self, name: str) -> None:
        """Wait for a lock until the end of the transaction."""
        self._begin(f"SELECT pg_advisory_xact_lock({LOCKS}, {_signed(name)})")

    def close(self) -> None:
        self._db.close()

    def _begin(self, first: str = "") -> None:
        """Begin a transaction that is due, in one message with its first statement."""
        begin, self._begins = "BEGIN; " if self._begins else "", False
        if begin or first:
            self._db.execute(f"{begin}{first}".encode())


def _restored_rows(_: object) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Implements `psycopg.rows.RowFactory`."""
    return restored


def _signed(name: str) -> int:
    number = crc32(name.encode("utf-8", "replace"))
    return number - (1 << 32 if number >= 1 << 31 else 0)


def conninfo(address: str, password: str) -> str:
    """The address with a password and time limits, which its own parameters replace.

    Raises StoreUnavailable for an address that libpq does not know.
    """
    try:
        given = conninfo_to_dict(address, **({"password": password} if password else {}))
    except psycopg.ProgrammingError as error:
        raise StoreUnavailable(f"PostgreSQL: {error}") from error
    return make_conninfo("", **{**_TIME_LIMITS, **given, **_ENCODING})
