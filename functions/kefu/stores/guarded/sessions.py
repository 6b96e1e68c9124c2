"""Guards the session store: every call has a time limit, and a circuit breaker skips a failing one.

A message that cannot be saved is refused with a 503. So the calls before the model have a short
time limit. The calls after it run in the background, and `kefu.sessions.background` retries them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from kefu.errors import QueryTimeout, StoreUnavailable
from kefu.sessions.contacts import Before, ContactRequest
from kefu.sessions.model import (
    BeginResult,
    CallRecord,
    NewMessage,
    Rating,
    Session,
    SessionId,
    StoredMessage,
    TurnOutcome,
)
from kefu.sessions.overview import AskedQuestions, Day, Page, UserSessions, Wanted
from kefu.sessions.people import Attendance, Line
from kefu.sessions.ports import Sessions
from kefu.stores.guarded.background import Background
from kefu.stores.guarded.circuit import Circuit

T = TypeVar("T")

LONGEST_QUERY = 8.0
"""Seconds for a list of the operator's panel. Less than `PATIENCE`, after which the store has
failed."""


class GuardedSessions:
    """Wraps a session store. Every method raises StoreUnavailable within its time limit.

    `aclose` does not close the wrapped store.
    """

    def __init__(
        self,
        store: Sessions,
        *,
        timeout: float = 1.0,
        first_answer: float = 3.0,
        on_degraded: Callable[[str], None],
        pause: float = 3.0,
        longest_query: float = LONGEST_QUERY,
    ) -> None:
        """`timeout`: seconds for one call, which may send several requests to the database.

        It is longer than that of the cooldowns, because a chat fails without the session store.
        `first_answer`: seconds until the store's first answer, because importing boto3 takes time.
        """
        probe = SessionId("probe")
        self.circuit = Circuit(
            lambda: store.session(probe), timeout=timeout, on_degraded=on_degraded, pause=pause
        )
        self._store = store
        self._longest_query = longest_query
        self._first_answer = first_answer
        self._starting = True
        self._background = Background()

    async def secret(self, candidate: str) -> str:
        return await self._soon("reading the sessions' secret", self._store.secret(candidate))

    async def session(self, session_id: SessionId) -> Session | None:
        return await self._soon("reading a session", self._store.session(session_id))

    async def begin(self, session: Session, asked: NewMessage, now: float) -> BeginResult:
        """Begin a turn.

        If the store answers after the time limit, the turn is ended as failed. Otherwise the
        visitor's next attempt would find it running.
        """
        if self.circuit.open:
            raise StoreUnavailable("saving a message: the store does not answer")
        saving = asyncio.ensure_future(self._store.begin(session, asked, now))
        try:
            with self._starts():
                return await self.circuit.wait("saving a message", saving, self._limit)
        except (StoreUnavailable, asyncio.CancelledError):
            self._background.start(self._undo(saving, now))
            raise

    async def messages(
        self, session_id: SessionId, *, before: int | None = None, limit: int = 20, now: float
    ) -> Sequence[StoredMessage]:
        read = self._store.messages(session_id, before=before, limit=limit, now=now)
        return await self._soon("reading messages", read)

    async def rate(
        self,
        session_id: SessionId,
        client_message_id: str,
        rating: Rating | None,
        comment: str = "",
    ) -> bool:
        work = self._store.rate(session_id, client_message_id, rating, comment)
        return await self._soon("saving a rating", work)

    async def renew(self, session_id: SessionId, message_id: int, again: int, now: float) -> bool:
        longer = self._store.renew(session_id, message_id, again, now)
        return await self._patiently("renewing a turn", longer)

    async def finish(
        self, session_id: SessionId, message_id: int, ended: TurnOutcome, now: float, again: int = 0
    ) -> StoredMessage | None:
        """End a turn, with a longer time limit and also while the circuit is open.

        If this call fails, the answer may be lost.
        """
        end = self._store.finish(session_id, message_id, ended, now, again)
        return await self._patiently("saving the end of a turn", end)

    async def record(self, call: CallRecord) -> None:
        await self._patiently("saving a call", self._store.record(call))

    async def save_trim_state(self, session_id: SessionId, state: str) -> None:
        await self._patiently(
            "saving a state of trimming", self._store.save_trim_state(session_id, state)
        )

    async def delete(self, session_id: SessionId) -> None:
        await self._patiently("deleting a session", self._store.delete(session_id))

    async def calls(self, session_id: SessionId) -> Sequence[CallRecord]:
        return await self._patiently("reading calls", self._store.calls(session_id))

    async def newest(self, wanted: Wanted, cursor: str | None, limit: int, now: float) -> Page:
        page = self._store.newest(wanted, cursor, limit, now)
        return await self._patiently("listing sessions", self._in_time(page))

    async def of_user(self, user: str, cursor: str | None) -> UserSessions:
        found = self._store.of_user(user, cursor)
        return await self._patiently("listing the sessions of a user", found)

    async def days(self, since: str, until: str) -> Sequence[Day]:
        return await self._patiently("reading days", self._store.days(since, until))

    async def questions(
        self, since: float, until: float, limit: int, now: float, *, gaps: bool = False
    ) -> AskedQuestions:
        found = self._store.questions(since, until, limit, now, gaps=gaps)
        return await self._patiently("reading questions", self._in_time(found))

    async def add_contact(self, request: ContactRequest) -> None:
        await self._patiently("saving a contact request", self._store.add_contact(request))

    async def claim_contact(self, now: float, until: float) -> ContactRequest | None:
        claimed = self._store.claim_contact(now, until)
        return await self._patiently("reading contact requests", claimed)

    async def end_contact(
        self, claimed: ContactRequest, *, due_at: float, delivered_at: float | None
    ) -> None:
        end = self._store.end_contact(claimed, due_at=due_at, delivered_at=delivered_at)
        await self._patiently("saving a delivery", end)

    async def contacts(self, limit: int, before: Before | None = None) -> Sequence[ContactRequest]:
        listed = self._store.contacts(limit, before)
        return await self._patiently("listing contact requests", listed)

    async def contacts_from(self, email: str) -> Sequence[ContactRequest]:
        found = self._store.contacts_from(email)
        return await self._patiently("finding contact requests", found)

    async def mark_contact(self, id: str, done_at: float | None) -> bool:
        work = self._store.mark_contact(id, done_at)
        return await self._patiently("marking a contact request", work)

    async def delete_contact(self, id: str) -> None:
        work = self._store.delete_contact(id)
        await self._patiently("deleting a contact request", work)

    async def delete_contacts(self, session_id: str) -> None:
        work = self._store.delete_contacts(session_id)
        await self._patiently("deleting contact requests", work)

    async def attend(
        self, session_id: str, change: Attendance, taken_from: str = ""
    ) -> Attendance | None:
        work = self._store.attend(session_id, change, taken_from)
        return await self._patiently("saving who answers a chat", work)

    async def add_line(self, session_id: str, line: Line, now: float) -> int | None:
        work = self._store.add_line(session_id, line, now)
        return await self._patiently("saving a line of an operator", work)

    async def used(self) -> int | None:
        return await self._soon("measuring the store", self._store.used())

    async def aclose(self) -> None:
        await self.circuit.aclose()
        await self._background.aclose(self.circuit.timeout)

    async def _undo(self, saving: asyncio.Future[BeginResult], now: float) -> None:
        try:
            begun = await saving
            if begun.answer is None and not begun.busy_for:
                turn = begun.message.session_id, begun.message.id
                await self._store.finish(*turn, TurnOutcome("failed"), now, begun.again)
        except (StoreUnavailable, KeyError):
            return  # without a stored end the turn becomes `interrupted` when its lease expires

    async def _soon(self, what: str, call: Coroutine[object, object, T]) -> T:
        """Await a call that a chat waits for. Raises at once while the circuit is open."""
        if self.circuit.open:
            call.close()
            raise StoreUnavailable(f"{what}: the store does not answer")
        with self._starts():
            return await self.circuit.call(what, call, self._limit)

    async def _patiently(self, what: str, call: Coroutine[object, object, T]) -> T:
        """Await a call that no chat waits for, also while the circuit is open."""
        with self._starts():
            return await self.circuit.call_patiently(what, call)

    async def _in_time(self, query: Coroutine[object, object, T]) -> T:
        """Await a query whose length depends on what an operator asks for.

        Raises QueryTimeout, which the circuit breaker does not count: the store may work for chats.
        """
        try:
            async with asyncio.timeout(self._longest_query):
                return await query
        except TimeoutError:
            raise QueryTimeout(
                f"This takes longer than {self._longest_query:g} seconds. Narrow the dates, or add"
                " another filter.",
            ) from None

    @property
    def _limit(self) -> float | None:
        return self._first_answer if self._starting else None

    @contextmanager
    def _starts(self) -> Iterator[None]:
        """After the call inside this context, the store has answered or failed once."""
        try:
            yield
        except StoreUnavailable:
            self._starting = False
            raise
        self._starting = False
