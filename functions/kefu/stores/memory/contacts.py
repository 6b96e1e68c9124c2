"""Stores requests for a person in memory, for tests and for trying Kefu out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kefu.sessions.contacts import Before, ContactRequest, newest
from kefu.sessions.model import Retention
from kefu.stores.memory.days import MemoryDays
from kefu.stores.turns import DayChange, date_of

MOST_CONTACTS = 1000
"""The largest number of requests. The oldest ones are deleted to bound the memory."""


class MemoryContacts(MemoryDays):
    def __init__(self, clock: Callable[[], float], retention: Retention) -> None:
        super().__init__(clock, retention)
        self._contacts: dict[str, ContactRequest] = {}
        """In the order of their creation."""

    async def add_contact(self, request: ContactRequest) -> None:
        self._expire()
        if request.id not in self._contacts:
            self._contacts[request.id] = request
            self._count(DayChange(date_of(request.created_at), {"handoffs": 1}))
        if len(self._contacts) > MOST_CONTACTS:
            del self._contacts[next(iter(self._contacts))]

    async def claim_contact(self, now: float, until: float) -> ContactRequest | None:
        self._expire()
        all_of_them = self._contacts.values()
        waiting = (one for one in all_of_them if one.delivered_at is None and one.done_at is None)
        due = min((one for one in waiting if one.due_at <= now), key=_due_at, default=None)
        if due is None:
            return None
        claimed = due._replace(attempts=due.attempts + 1, due_at=until)
        self._contacts[due.id] = claimed
        return claimed

    async def end_contact(
        self, claimed: ContactRequest, *, due_at: float, delivered_at: float | None
    ) -> None:
        stored = self._contacts.get(claimed.id)
        if stored and stored.attempts == claimed.attempts:
            ended = stored._replace(due_at=due_at, delivered_at=delivered_at)
            self._contacts[claimed.id] = ended

    async def contacts(self, limit: int, before: Before | None = None) -> Sequence[ContactRequest]:
        self._expire()
        return newest(self._contacts.values(), limit, before)

    async def contacts_from(self, email: str) -> Sequence[ContactRequest]:
        return [one for one in self._contacts.values() if one.is_from(email)]

    async def mark_contact(self, id: str, done_at: float | None) -> bool:
        self._expire()
        stored = self._contacts.get(id)
        if stored:
            self._contacts[id] = stored._replace(done_at=done_at)
        return stored is not None

    async def delete_contact(self, id: str) -> None:
        self._contacts.pop(id, None)

    async def delete_contacts(self, session_id: str) -> None:
        for one in [one.id for one in self._contacts.values() if one.session_id == session_id]:
            del self._contacts[one]

    def _expire(self) -> None:
        oldest = self._clock() - self._retention.session
        for old in [one.id for one in self._contacts.values() if one.created_at <= oldest]:
            del self._contacts[old]


def _due_at(request: ContactRequest) -> float:
    return request.due_at
