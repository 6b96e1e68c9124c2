"""Stores requests for a person in a DynamoDB table.

    pk        sk
    contacts  ID    a request
    waiting   ID    the request is not delivered yet
    mails     ID    operators' lines are to be mailed to the visitor

The `waiting` items are the queue of deliveries, so that looking for one reads no delivered request.
An item is added to the queue before its request is stored, and removed after the delivery: a
stored request that is not delivered is always in the queue. So it is with `mails`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kefu.sessions.store.contacts import Before, ContactRequest, newest
from kefu.sessions.store.overview import LINE_LENGTH
from kefu.stores.dynamodb import items
from kefu.stores.dynamodb.table import Row, change, number_in, text, value_of
from kefu.stores.dynamodb.upkeep import DynamoUpkeep, count
from kefu.stores.turns import DayChange, date_of

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import UniversalAttributeValueTypeDef

    from kefu.stores.dynamodb.table import Item

CONTACTS: Final = "contacts"
WAITING: Final = "waiting"
MAILS: Final = "mails"
_ALL: Final = (" ", "~")
_TEXTS: Final = ("session_id", "name", "email", "message", "consent")
_ABANDONED_SECONDS: Final = 60.0
"""Seconds after which an item of the queue without a request is removed."""


class DynamoContacts(DynamoUpkeep):
    """Every method raises StoreUnavailable if DynamoDB fails, throttles or is too slow."""

    async def add_contact(self, request: ContactRequest) -> None:
        queued = self._queued(request.created_at)
        values = {
            **{name: text(getattr(request, name)) for name in _TEXTS},
            **queued,
            "attempts": value_of(request.attempts),
            "due": value_of(request.due_at),
        }

        def work() -> None:
            self._table.put(Row(WAITING, request.id), queued)
            new, _ = self._table.put(Row(CONTACTS, request.id), values, replace=False)
            if new:
                count(self._table, DayChange(date_of(request.created_at), {"handoffs": 1}))
            if new and request.session_id and request.message:
                # The list reads no requests.
                note = change(
                    "SET #request = :request",
                    "attribute_exists(pk)",
                    request=request.message[:LINE_LENGTH],
                )
                self._table.update(items.session_row(request.session_id), note)

        await self._table.run(work)

    async def claim_contact(self, now: float, until: float) -> ContactRequest | None:
        # One try: a claim whose response is lost must not be repeated before `until`.
        return await self._table.run(lambda: self._claim_contact(now, until), tries=1)

    def _claim_contact(self, now: float, until: float) -> ContactRequest | None:
        claim = change(
            "SET #due = :until ADD #attempts :one",
            "attribute_not_exists(#delivered) AND attribute_not_exists(#done) AND #due <= :now",
            until=until,
            now=now,
            one=1,
        )
        for queued in self._table.query(WAITING, _ALL):
            row = Row(CONTACTS, items.text_in(queued, "sk"))
            claimed, item = self._table.update(row, claim)
            if claimed:
                return _request(item)
            stored = item or self._table.read(row)
            has_ended = "delivered" in stored or "done" in stored
            is_abandoned = items.time_in(queued, "created") + _ABANDONED_SECONDS < now
            if has_ended or (not stored and is_abandoned):
                items.delete_rows(self._table, [items.row_of(queued)])
        return None

    async def end_contact(
        self,
        claimed: ContactRequest,
        *,
        due_at: float,
        delivered_at: float | None,
        is_tried: bool = True,
    ) -> None:
        row, is_claimed = Row(CONTACTS, claimed.id), "#attempts = :attempts"
        attempts = claimed.attempts
        if delivered_at is None:
            later = change(
                "SET #due = :due, #attempts = :left",
                is_claimed,
                due=due_at,
                attempts=attempts,
                left=attempts - (not is_tried),
            )
            await self._update(row, later)
            return
        end = change("SET #delivered = :at", is_claimed, at=delivered_at, attempts=attempts)
        if (await self._update(row, end))[0]:
            queued = [Row(WAITING, claimed.id)]
            await self._table.run(lambda: items.delete_rows(self._table, queued))

    async def contacts(self, limit: int, before: Before | None = None) -> Sequence[ContactRequest]:
        return newest(await self._kept_contacts(), limit, before)

    async def contacts_by_kind(
        self, limit: int, with_chat: Before | None, without: Before | None
    ) -> tuple[Sequence[ContactRequest], Sequence[ContactRequest]]:
        stored = await self._kept_contacts()
        of_chats = [one for one in stored if one.session_id]
        others = [one for one in stored if not one.session_id]
        return newest(of_chats, limit, with_chat), newest(others, limit, without)

    async def contacts_of(self, session_id: str) -> Sequence[ContactRequest]:
        stored = await self._kept_contacts()
        found = [one for one in stored if session_id and one.session_id == session_id]
        return newest(found, len(found), None)[::-1]

    async def contacts_from(self, email: str) -> Sequence[ContactRequest]:
        return [one for one in await self._all_contacts() if one.is_from(email)]

    async def mark_contact(self, id: str, done_at: float | None) -> bool:
        row, oldest = Row(CONTACTS, id), self._clock() - self._retention.session
        if done_at is not None:
            mark = change("SET #done = :at", "#created > :oldest", at=done_at, oldest=oldest)
            return (await self._update(row, mark))[0]
        reopen = change("REMOVE #done", "#created > :oldest", oldest=oldest)
        found, item = await self._update(row, reopen)
        if found and "delivered" not in item:  # the queue drops requests that are done
            queued = self._queued(items.time_in(item, "created"))
            await self._table.run(lambda: self._table.put(Row(WAITING, id), queued))
        return found

    async def redeliver_contact(self, id: str, now: float) -> bool:
        again = change(
            "SET #due = :now REMOVE #delivered, #done",
            "#created > :oldest",
            now=now,
            oldest=self._clock() - self._retention.session,
        )
        # First, as for a new request. The queue drops an item without a request.
        await self._table.run(lambda: self._table.put(Row(WAITING, id), self._queued(now)))
        return (await self._update(Row(CONTACTS, id), again))[0]

    async def mails_due(self, now: float, limit: int) -> Sequence[ContactRequest]:
        def work() -> Sequence[ContactRequest]:
            found: list[ContactRequest] = []
            for queued in self._table.query(MAILS, _ALL):
                item = self._table.read(Row(CONTACTS, items.text_in(queued, "sk")))
                request = _request(item) if item else None
                if request and 0 < request.mail_due_at <= now and len(found) < limit:
                    found.append(request)
                is_abandoned = items.time_in(queued, "created") + _ABANDONED_SECONDS < now
                if is_abandoned and not (request and request.mail_due_at):
                    items.delete_rows(self._table, [items.row_of(queued)])
            return found

        return await self._table.run(work)

    async def set_mail(self, before: ContactRequest, after: ContactRequest) -> bool:
        was_never_due = "" if before.mail_due_at else "attribute_not_exists(#mail_due) OR "
        update = change(
            "SET #mail_due = :due, #mail_line = :line, #mail_attempts = :attempts, #mailed = :at",
            f"attribute_exists(pk) AND ({was_never_due}#mail_due = :before)",
            due=after.mail_due_at,
            line=after.mail_line,
            attempts=after.mail_attempts,
            at=after.mailed_at,
            before=before.mail_due_at,
        )
        if after.mail_due_at:
            queued = self._queued(self._clock())
            await self._table.run(lambda: self._table.put(Row(MAILS, before.id), queued))
        # One try: a change whose response is lost would look like one by another process.
        row = Row(CONTACTS, before.id)
        return (await self._table.run(lambda: self._table.update(row, update), tries=1))[0]

    async def delete_contact(self, id: str) -> None:
        rows = [Row(CONTACTS, id), Row(WAITING, id), Row(MAILS, id)]

        def work() -> None:
            if session := items.text_in(self._table.read(rows[0]), "session_id"):
                forget = change("REMOVE #request", "attribute_exists(pk)")
                self._table.update(items.session_row(session), forget)
            items.delete_rows(self._table, rows)

        await self._table.run(work)

    async def delete_contacts(self, session_id: str) -> None:
        for request in await self._all_contacts():
            if request.session_id == session_id:
                await self.delete_contact(request.id)

    def _queued(self, created_at: float) -> dict[str, UniversalAttributeValueTypeDef]:
        """The attributes of an item of the queue."""
        expires = int(created_at + self._retention.session) + 1
        return {"created": value_of(created_at), "expires": value_of(expires)}

    async def _kept_contacts(self) -> Sequence[ContactRequest]:
        oldest = self._clock() - self._retention.session
        return [one for one in await self._all_contacts() if one.created_at > oldest]

    async def _all_contacts(self) -> Sequence[ContactRequest]:
        return await self._table.run(
            lambda: [_request(item) for item in self._table.query(CONTACTS, _ALL)]
        )


def _request(item: Item) -> ContactRequest:
    return ContactRequest(
        id=items.text_in(item, "sk"),
        created_at=items.time_in(item, "created"),
        attempts=items.whole_in(item, "attempts"),
        due_at=items.time_in(item, "due"),
        delivered_at=number_in(item, "delivered"),
        done_at=number_in(item, "done"),
        mail_due_at=items.time_in(item, "mail_due"),
        mail_line=items.whole_in(item, "mail_line"),
        mail_attempts=items.whole_in(item, "mail_attempts"),
        mailed_at=items.time_in(item, "mailed"),
        **{name: items.text_in(item, name) for name in _TEXTS},
    )
