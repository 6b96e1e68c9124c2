"""Shares one PostgreSQL database between all processes, without blocking the event loop.

Each call runs in a worker thread, which has a connection of its own. A thread that lost its
connection makes a new one for its next call.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import psycopg

from kefu.errors import StoreUnavailable
from kefu.stores.postgresql.connection import PostgresConnection
from kefu.stores.postgresql.migrations import migrate
from kefu.stores.postgresql.presence import CHANNEL, Presence
from kefu.stores.sql.database import writing

T = TypeVar("T")

CONNECTIONS = 8
"""Connections for chats, at most. They are opened when they are needed."""
READERS = 2
"""Connections for the queries of operators, at most."""

CALL_SECONDS, QUERY_SECONDS = 5.0, 9.0
"""The time limits of the server for a statement of a chat, and for a query of an operator."""

TIDY_AFTER = 60.0
"""Seconds between two clean-ups of this process."""

TRIES = 5
"""Attempts of a transaction that another one blocks."""

_POOLED = (
    "PostgreSQL: the pooler is in transaction mode, which has no locks and notifications. "
    "Use its session mode, or the address of the database itself"
)
_TIDYING = "SELECT pg_try_advisory_xact_lock(hashtext('kefu tidying'))"


class _Threads:
    """Worker threads with a connection each."""

    def __init__(self, address: str, most: int, name: str, seconds: float) -> None:
        self._address = address
        self._seconds = seconds
        self._executor = ThreadPoolExecutor(most, thread_name_prefix=f"kefu-postgresql-{name}")
        self._own = threading.local()
        self._all: set[PostgresConnection] = set()

    def submit(self, work: Callable[[PostgresConnection], T]) -> Future[T]:
        """Raises StoreUnavailable if the store is closed."""
        try:
            return self._executor.submit(self._call, work)
        except RuntimeError as error:
            raise StoreUnavailable("PostgreSQL: the store is closed") from error

    def close(self) -> None:
        """Wait for the running calls, and close the connections."""
        self._executor.shutdown(wait=True, cancel_futures=True)
        for one in self._all:
            one.close()

    def _call(self, work: Callable[[PostgresConnection], T]) -> T:
        try:
            for _ in range(TRIES - 1):
                try:
                    return work(self._connection())
                except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
                    continue  # the server has rolled the transaction back
            return work(self._connection())
        except psycopg.Error as error:
            self._drop()
            raise StoreUnavailable(f"PostgreSQL: {_sentence(error)}") from error

    def _connection(self) -> PostgresConnection:
        known: PostgresConnection | None = getattr(self._own, "connection", None)
        if known is not None and not known.is_lost:
            return known
        self._drop()
        made = PostgresConnection(self._address, self._seconds)
        self._own.connection = made
        self._all.add(made)
        return made

    def _drop(self) -> None:
        known: PostgresConnection | None = getattr(self._own, "connection", None)
        if known is not None:
            self._own.connection = None
            self._all.discard(known)
            known.close()


class PostgresDatabase:
    """Implements `kefu.stores.sql.database.Database`."""

    def __init__(self, address: str, clock: Callable[[], float]) -> None:
        """`address`: see `kefu.stores.postgresql.connection.conninfo`."""
        self.tidying: list[Callable[[PostgresConnection], bool]] = []
        self.indexing: Callable[[PostgresConnection], bool] | None = None
        self._address = address
        self._clock = clock
        self._calls = _Threads(address, CONNECTIONS, "call", CALL_SECONDS)
        self._queries = _Threads(address, READERS, "query", QUERY_SECONDS)
        self.presence = Presence(address, clock)
        self._migrating = threading.Lock()
        self._is_migrated = False
        self._tidied_at = clock()
        self._upkeep: Future[None] | None = None
        self._closing = False

    def warm(self, work: Callable[[PostgresConnection], object]) -> None:
        self.presence.start(asyncio.get_running_loop())
        with contextlib.suppress(StoreUnavailable):
            self._submit(self._calls, work)

    async def run(self, work: Callable[[PostgresConnection], T]) -> T:
        result = await asyncio.wrap_future(self._submit(self._calls, work))
        if abs(self._clock() - self._tidied_at) > TIDY_AFTER:
            self._begin_upkeep()
        return result

    async def run_in_thread(self, work: Callable[[PostgresConnection], T]) -> T:
        return await self.run(work)

    async def read(self, work: Callable[[PostgresConnection], T]) -> T:
        return await asyncio.wrap_future(self._submit(self._queries, work))

    def tell(self, what: str, name: str) -> None:
        """Tell all other servers. Returns at once, and never raises."""
        text = json.dumps([what, name])
        with contextlib.suppress(StoreUnavailable):
            self._submit(
                self._calls, lambda db: db.execute("SELECT pg_notify(?, ?)", (CHANNEL, text))
            )

    def listen(self, on_told: Callable[[str, str], None]) -> None:
        """Call a function on the event loop for each message of another server."""
        self.presence.listen(on_told)

    async def used(self) -> None:
        """None: the size of a database does not fall by itself when rows are deleted."""

    async def wipe(self) -> None:
        """Do nothing: the server's autovacuum frees deleted rows."""

    async def aclose(self) -> None:
        self._closing = True
        await asyncio.to_thread(self.presence.close)
        for threads in (self._calls, self._queries):
            await asyncio.to_thread(threads.close)

    def _submit(self, threads: _Threads, work: Callable[[PostgresConnection], T]) -> Future[T]:
        if self._is_migrated:
            return threads.submit(work)
        return threads.submit(lambda db: self._first(db, work))

    def _first(self, db: PostgresConnection, work: Callable[[PostgresConnection], T]) -> T:
        with self._migrating:
            if not self._is_migrated:
                with contextlib.closing(PostgresConnection(self._address, CALL_SECONDS)) as other:
                    if db.is_pooled_with(other):
                        raise StoreUnavailable(_POOLED)
                migrate(db)
                self.presence.take()  # before this process can begin a turn
                self._is_migrated = True
        return work(db)

    def _begin_upkeep(self) -> None:
        self._tidied_at = self._clock()
        if not self._closing and (self._upkeep is None or self._upkeep.done()):
            with contextlib.suppress(StoreUnavailable):
                self._upkeep = self._submit(self._queries, self._tidy)

    def _tidy(self, db: PostgresConnection) -> None:
        """Delete expired rows and index turns, in short transactions. One process does so."""
        more = True
        while more and not self._closing:
            more = False
            for forget in self.tidying:
                with writing(db):
                    if db.execute(_TIDYING).fetchall() != [(True,)]:
                        return
                    more = forget(db) or more
            if self.indexing is not None:
                more = self.indexing(db) or more


def _sentence(error: psycopg.Error) -> str:
    """The first line of the server's message. It may name the host, and never the password."""
    return (str(error) or type(error).__name__).strip().splitlines()[0]
