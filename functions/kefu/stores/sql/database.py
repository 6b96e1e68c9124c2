"""Defines what the stores of chats need of an SQL database, so that several engines share them.

The statements are written for SQLite. `kefu.stores.postgresql.dialect` translates them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

LONGEST_TURN = 3600.0
"""Seconds. Turns of chats without a message for this long are not searched: their leases end by
themselves."""

_FREE_TURNS = (
    "UPDATE turns SET lease = ?1 WHERE status = 'pending' AND lease > ?1"
    " AND session IN (SELECT id FROM sessions WHERE updated > ?2)"
)
_FREE_SESSIONS = (
    "UPDATE sessions SET lease = ?1 WHERE status = 'pending' AND lease > ?1 AND updated > ?2"
)


class Rows(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int: ...

    @property
    def description(self) -> Any:
        """A sequence for each column, whose first item is the column's name."""
        ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...

    def close(self) -> None: ...


class SqlConnection(Protocol):
    """A connection that begins no transaction by itself, as with `isolation_level=None`."""

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Rows: ...

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Rows: ...

    def rollback(self) -> None: ...


class Database(Protocol):
    """Every method raises StoreUnavailable when the database fails."""

    tidying: list[Callable[[Any], bool]]
    """The clean-up functions of the stores. Each runs in a transaction, deletes some expired rows,
    and returns True if there are more."""
    indexing: Callable[[Any], bool] | None
    """Work for quiet times, in transactions of its own. Returns True if there is more."""

    def warm(self, work: Callable[[Any], object]) -> None:
        """Start connecting. Returns at once, and never raises.

        A process that will answer chats calls this first.
        """
        ...

    async def run(self, work: Callable[[Any], T]) -> T:
        """Run `work`, which must be short and idempotent: it is run again after some errors."""
        ...

    async def run_in_thread(self, work: Callable[[Any], T]) -> T:
        """Run long work in short transactions."""
        ...

    async def read(self, work: Callable[[Any], T]) -> T:
        """Run a query of an operator, which may take long and delays no other call."""
        ...

    async def used(self) -> int | None:
        """The bytes in use; None for a database without a count."""
        ...

    async def wipe(self) -> None:
        """Remove deleted data from the logs of the database, too, where it can."""
        ...

    async def aclose(self) -> None:
        """End the running calls and close all connections. Later calls raise StoreUnavailable."""
        ...


@contextmanager
def writing(db: SqlConnection) -> Iterator[None]:
    """Run a transaction. In SQLite it takes the write lock before its first read."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        db.rollback()
        raise


def hold(db: SqlConnection, name: str) -> None:
    """Let other transactions that hold the same name wait until this one ends.

    For a read whose result decides what is written. SQLite's write lock does so already.
    """
    lock = getattr(db, "hold", None)
    if lock is not None:
        lock(name)


Change = tuple[str, Sequence[Any]]
"""A statement that writes, and its parameters."""


def apply(db: SqlConnection, changes: Sequence[Change]) -> None:
    """Run statements that change different rows, each as if it were the only one.

    In PostgreSQL they are one statement, which takes one message instead of one for each.
    """
    together = getattr(db, "apply", None)
    if together is not None:
        together(changes)
        return
    for sql, parameters in changes:
        db.execute(sql, parameters)


def free_turns(db: SqlConnection, now: float) -> None:
    """End the leases of all turns, because no process answers chats.

    If that was wrong, `renew` still works.
    """
    with writing(db):
        for sql in (_FREE_TURNS, _FREE_SESSIONS):
            db.execute(sql, (now, now - LONGEST_TURN))
