"""Stores requests for a person in the SQL database that all processes share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from kefu.sessions.store.contacts import Before, ContactRequest
from kefu.sessions.store.model import Retention
from kefu.stores.sql.database import Database, SqlConnection, hold, writing
from kefu.stores.sql.rows import AT_ONCE, columns, count
from kefu.stores.sql.turns import SqlTurns, quick, transaction
from kefu.stores.turns import DayChange, date_of

_COLUMNS = ", ".join(columns(ContactRequest._fields))
_VALUES = ", ".join("?" for _ in ContactRequest._fields)
_ADD = f"INSERT OR IGNORE INTO contacts ({_COLUMNS}) VALUES ({_VALUES})"  # noqa: S608
_DUE = (
    "SELECT id FROM contacts WHERE delivered IS NULL AND due <= ? AND created > ? AND done IS NULL"
    " ORDER BY due"
)
_CLAIM = f"UPDATE contacts SET attempts = attempts + 1, due = ? WHERE id = ? RETURNING {_COLUMNS}"  # noqa: S608
_END = (
    "UPDATE contacts SET due = ?1, delivered = ?2, attempts = ?4 - ?5"
    " WHERE id = ?3 AND attempts = ?4"
)
_NEWEST = (
    f"SELECT {_COLUMNS} FROM contacts WHERE created > ? AND (created, id) < (?, ?)"  # noqa: S608
    "{kind} ORDER BY created DESC, id DESC LIMIT ?"
)
_WITH_CHAT, _WITHOUT = " AND session <> ''", " AND session = ''"
_OF_CHAT = (
    f"SELECT {_COLUMNS} FROM contacts WHERE session = ? AND session <> '' AND created > ?"  # noqa: S608
    " ORDER BY created, id"
)
_ALL = f"SELECT {_COLUMNS} FROM contacts"  # noqa: S608
_MARK = "UPDATE contacts SET done = ? WHERE id = ? AND created > ?"
_AGAIN = "UPDATE contacts SET due = ?, delivered = NULL, done = NULL WHERE id = ? AND created > ?"
_MAILS = (
    f"SELECT {_COLUMNS} FROM contacts WHERE mail_due > 0 AND mail_due <= ? AND created > ?"  # noqa: S608
    " ORDER BY mail_due LIMIT ?"
)
_SET_MAIL = (
    "UPDATE contacts SET mail_due = ?, mail_line = ?, mail_attempts = ?, mailed = ?"
    " WHERE id = ? AND mail_due = ?"
)
_FORGET = "DELETE FROM contacts WHERE id IN (SELECT id FROM contacts WHERE created <= ? LIMIT ?)"


class SqlContacts(SqlTurns):
    """Every method raises StoreUnavailable when the database fails."""

    def __init__(self, file: Database, clock: Callable[[], float], retention: Retention) -> None:
        super().__init__(file, clock, retention)
        file.tidying.append(self._forget_contacts)

    @transaction
    def add_contact(self, db: SqlConnection, request: ContactRequest) -> None:
        if db.execute(_ADD, request).rowcount == 1:
            count(db, DayChange(date_of(request.created_at), {"handoffs": 1}))

    @quick
    def claim_contact(self, db: SqlConnection, now: float, until: float) -> ContactRequest | None:
        wanted = (now, self._oldest(self._clock()))
        if db.execute(_DUE, wanted).fetchone() is None:
            return None  # without a write transaction: this is the usual case
        with writing(db):
            hold(db, "contacts")
            due = db.execute(_DUE, wanted).fetchone()
            rows = db.execute(_CLAIM, (until, due[0])).fetchall() if due else []
        return ContactRequest(*rows[0]) if rows else None

    @quick
    def end_contact(
        self,
        db: SqlConnection,
        claimed: ContactRequest,
        *,
        due_at: float,
        delivered_at: float | None,
        is_tried: bool = True,
    ) -> None:
        db.execute(_END, (due_at, delivered_at, claimed.id, claimed.attempts, int(not is_tried)))

    @quick
    def contacts(
        self, db: SqlConnection, limit: int, before: Before | None = None
    ) -> Sequence[ContactRequest]:
        return self._newest(db, limit, before)

    @quick
    def contacts_by_kind(
        self, db: SqlConnection, limit: int, with_chat: Before | None, without: Before | None
    ) -> tuple[Sequence[ContactRequest], Sequence[ContactRequest]]:
        return (
            self._newest(db, limit, with_chat, _WITH_CHAT),
            self._newest(db, limit, without, _WITHOUT),
        )

    def _newest(
        self, db: SqlConnection, limit: int, before: Before | None, kind: str = ""
    ) -> Sequence[ContactRequest]:
        values = (self._oldest(self._clock()), *(before or (inf, "")), limit)
        rows = db.execute(_NEWEST.format(kind=kind), values).fetchall()
        return [ContactRequest(*row) for row in rows]

    @quick
    def contacts_of(self, db: SqlConnection, session_id: str) -> Sequence[ContactRequest]:
        values = (session_id, self._oldest(self._clock()))
        return [ContactRequest(*row) for row in db.execute(_OF_CHAT, values).fetchall()]

    async def contacts_from(self, email: str) -> Sequence[ContactRequest]:
        def work(db: SqlConnection) -> list[ContactRequest]:
            return [one for row in db.execute(_ALL) if (one := ContactRequest(*row)).is_from(email)]

        return await self._file.run_in_thread(work)

    @quick
    def mark_contact(self, db: SqlConnection, id: str, done_at: float | None) -> bool:
        values = (done_at, id, self._oldest(self._clock()))
        return db.execute(_MARK, values).rowcount == 1

    @quick
    def redeliver_contact(self, db: SqlConnection, id: str, now: float) -> bool:
        return db.execute(_AGAIN, (now, id, self._oldest(self._clock()))).rowcount == 1

    @quick
    def mails_due(self, db: SqlConnection, now: float, limit: int) -> Sequence[ContactRequest]:
        values = (now, self._oldest(self._clock()), limit)
        return [ContactRequest(*row) for row in db.execute(_MAILS, values).fetchall()]

    @quick
    def set_mail(self, db: SqlConnection, before: ContactRequest, after: ContactRequest) -> bool:
        mail = (after.mail_due_at, after.mail_line, after.mail_attempts, after.mailed_at)
        return db.execute(_SET_MAIL, (*mail, before.id, before.mail_due_at)).rowcount == 1

    async def delete_contact(self, id: str) -> None:
        await self._delete("DELETE FROM contacts WHERE id = ?", id)

    async def delete_contacts(self, session_id: str) -> None:
        await self._delete("DELETE FROM contacts WHERE session = ? AND session <> ''", session_id)

    async def _delete(self, delete: str, key: str) -> None:
        if await self._file.run_in_thread(lambda db: db.execute(delete, (key,)).rowcount):
            await self._file.wipe()

    def _forget_contacts(self, db: SqlConnection) -> bool:
        """Delete some expired requests. Returns True if there may be more."""
        return db.execute(_FORGET, (self._oldest(self._clock()), AT_ONCE)).rowcount == AT_ONCE
