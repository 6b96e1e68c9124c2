"""A connection that a server holds for as long as it runs, to know of other servers.

It holds a shared advisory lock. A server that gets the lock alone when it starts knows that no
other one answers chats: turns that still count as running belong to an ended process. PostgreSQL
releases the lock at any end of the process.

It also listens to what other servers tell, such as that a visitor cancelled an answer. What is told
while the connection is lost is lost, too.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Final

import psycopg

from kefu.stores.postgresql.connection import LOCKS, PostgresConnection
from kefu.stores.sql.database import free_turns

CHANNEL: Final = "kefu"
SERVING: Final = 1
"""The key of the advisory lock. Those of chats are hashes, which may be equal: no harm is done."""
RETRY_SECONDS: Final = 1.0
LISTEN_SECONDS: Final = 60.0
"""Seconds after which the thread looks whether it shall end, at the latest."""


class Presence:
    def __init__(self, address: str, clock: Callable[[], float]) -> None:
        """`address`: see `kefu.stores.postgresql.connection.conninfo`."""
        self._address = address
        self._clock = clock
        self._on_told: Callable[[str, str], None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._db: PostgresConnection | None = None
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def listen(self, on_told: Callable[[str, str], None]) -> None:
        """Call a function on the event loop for each message of another server."""
        self._on_told = on_told

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to listen, in a thread of its own. Messages arrive on this event loop."""
        self._loop = loop

    def take(self) -> None:
        """Count this process as a server; the only server ends the leases of all turns.

        Blocks. Does nothing when called again. Raises psycopg.Error.
        """
        if self._thread is not None or self._loop is None:
            return
        self._db = self._connected()
        [alone] = self._db.execute(
            "SELECT pg_try_advisory_lock(?, ?)", (LOCKS, SERVING)
        ).fetchall()[0]
        if alone:
            free_turns(self._db, self._clock())
        self._share(self._db)
        if alone:
            self._db.execute("SELECT pg_advisory_unlock(?, ?)", (LOCKS, SERVING))
        self._thread = threading.Thread(target=self._run, name="kefu-postgresql-news", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        if self._db is not None:
            self._db.cancel()
        if self._thread is not None:
            self._thread.join(RETRY_SECONDS)
        if self._db is not None:
            self._db.close()

    def _connected(self) -> PostgresConnection:
        db = PostgresConnection(self._address, 0)
        db.execute(f"LISTEN {CHANNEL}")
        return db

    def _share(self, db: PostgresConnection) -> None:
        db.execute("SELECT pg_advisory_lock_shared(?, ?)", (LOCKS, SERVING))

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                if self._db is None:
                    self._db = self._connected()
                    self._share(self._db)
                for sender, payload in self._db.told(LISTEN_SECONDS):
                    if sender != self._db.pid:
                        self._pass_on(payload)
            except psycopg.Error:
                if self._db is not None:
                    self._db.close()
                self._db = None
                self._closing.wait(RETRY_SECONDS)

    def _pass_on(self, payload: str) -> None:
        try:
            what, name = json.loads(payload)
        except ValueError:
            return  # another application in the database
        if self._on_told is not None and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._on_told, str(what), str(name))
