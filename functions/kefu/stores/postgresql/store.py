"""Shares cooldowns, limits and chats between all processes, in one PostgreSQL database."""

from __future__ import annotations

from collections.abc import Callable

from kefu.stores.postgresql.connection import conninfo
from kefu.stores.postgresql.database import PostgresDatabase
from kefu.stores.sql.store import SqlStore


class PostgresStore(SqlStore):
    """Every method raises StoreUnavailable when the server fails or is too slow."""

    def __init__(self, address: str, clock: Callable[[], float], password: str = "") -> None:
        """`address`: `postgresql://USER@HOST/NAME`, with any parameter of libpq.

        `password`: of the user; "" for none.
        """
        self.servers = PostgresDatabase(conninfo(address, password), clock)
        super().__init__(self.servers, clock)
