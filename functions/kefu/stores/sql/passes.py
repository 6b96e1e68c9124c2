"""Stores the sign-ins of operators in the SQL database that all processes share."""

from __future__ import annotations

from collections.abc import Sequence

from kefu.sessions.store.passes import SignIn
from kefu.stores.sql.answers import SqlAnswers
from kefu.stores.sql.database import SqlConnection
from kefu.stores.sql.rows import columns
from kefu.stores.sql.turns import quick, transaction

_COLUMNS = ", ".join(columns(SignIn._fields))
_VALUES = ", ".join("?" for _ in SignIn._fields)
_ADD = f"INSERT OR IGNORE INTO passes ({_COLUMNS}) VALUES ({_VALUES})"  # noqa: S608
_OPEN = (
    f"SELECT {_COLUMNS} FROM passes WHERE ended IS NULL AND expires > ?"  # noqa: S608
    " ORDER BY opened DESC, id"
)
_ENDED = "SELECT 1 FROM passes WHERE id = ? AND ended IS NOT NULL"
_END = "UPDATE passes SET ended = coalesce(ended, ?) WHERE id = ?"


class SqlPasses(SqlAnswers):
    """Every method raises StoreUnavailable when the database fails."""

    @transaction
    def add_sign_in(self, db: SqlConnection, new: SignIn) -> None:
        db.execute("DELETE FROM passes WHERE expires <= ?", (new.opened_at,))
        db.execute(_ADD, new)

    @quick
    def sign_ins(self, db: SqlConnection, now: float) -> Sequence[SignIn]:
        return [SignIn(*row) for row in db.execute(_OPEN, (now,)).fetchall()]

    @quick
    def has_ended(self, db: SqlConnection, id: str) -> bool:
        return db.execute(_ENDED, (id,)).fetchone() is not None

    @quick
    def end_sign_in(self, db: SqlConnection, id: str, now: float) -> bool:
        return db.execute(_END, (now, id)).rowcount == 1
