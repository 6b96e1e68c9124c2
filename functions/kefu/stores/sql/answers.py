"""Stores the answers of people in the SQL database that all processes share."""

from __future__ import annotations

from collections.abc import Sequence

from kefu.sessions.store.answers import WrittenAnswer, newest_answers
from kefu.stores.sql.contacts import SqlContacts
from kefu.stores.sql.database import SqlConnection
from kefu.stores.sql.rows import columns
from kefu.stores.sql.turns import quick, transaction

_COLUMNS = ", ".join(columns(WrittenAnswer._fields))
_VALUES = ", ".join("?" for _ in WrittenAnswer._fields)
_SAVE = f"INSERT OR REPLACE INTO answers ({_COLUMNS}) VALUES ({_VALUES})"  # noqa: S608
_ALL = f"SELECT {_COLUMNS} FROM answers"  # noqa: S608
_WITHDRAW = "DELETE FROM answers WHERE id = ?"
_VERSION = "SELECT version FROM answers_version"
_CHANGED = "UPDATE answers_version SET version = version + 1"


class SqlAnswers(SqlContacts):
    """Every method raises StoreUnavailable when the database fails."""

    async def save_answer(self, answer: WrittenAnswer) -> None:
        await self._save_answer(answer)
        await self._file.wipe()  # the text that was replaced may have had a name

    @transaction
    def _save_answer(self, db: SqlConnection, answer: WrittenAnswer) -> None:
        db.execute(_SAVE, answer)
        db.execute(_CHANGED)

    async def answers(self) -> Sequence[WrittenAnswer]:
        def work(db: SqlConnection) -> list[WrittenAnswer]:
            return [WrittenAnswer(*row) for row in db.execute(_ALL).fetchall()]

        return newest_answers(await self._file.read(work))

    @quick
    def answers_version(self, db: SqlConnection) -> int:
        return int(db.execute(_VERSION).fetchone()[0])

    async def withdraw_answer(self, id: str) -> bool:
        withdrawn = await self._withdraw_answer(id)
        if withdrawn:
            await self._file.wipe()
        return withdrawn

    @transaction
    def _withdraw_answer(self, db: SqlConnection, id: str) -> bool:
        withdrawn = db.execute(_WITHDRAW, (id,)).rowcount == 1
        if withdrawn:
            db.execute(_CHANGED)
        return withdrawn
