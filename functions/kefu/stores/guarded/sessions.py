"""Guards the session store: every call has a time limit, a circuit breaker skips a failing store.

A message that cannot be saved is refused with a 503. Therefore the calls before the model have a
short time limit. Later calls run in the background, and `kefu.sessions.turn.background` retries
them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

from kefu.errors import QueryTimeout, StoreUnavailable
from kefu.sessions.store.model import BeginResult, NewMessage, Session, SessionId, TurnOutcome
from kefu.sessions.store.ports import Sessions
from kefu.stores.guarded.circuit import PATIENCE, Circuit, started

P = ParamSpec("P")
T = TypeVar("T")

LONGEST_QUERY = 8.0
"""Seconds for a list of the operator's panel. Less than `PATIENCE`, after which the store has
failed."""

_Method = Callable[Concatenate[Sessions, P], Coroutine[Any, Any, T]]
_Guarded = Callable[Concatenate["GuardedSessions", P], Coroutine[Any, Any, T]]


def _soon(what: str, method: _Method[P, T]) -> _Guarded[P, T]:
    """A call that a chat waits for. Raises at once while the circuit is open."""

    async def guarded(self: GuardedSessions, /, *args: P.args, **named: P.kwargs) -> T:
        self._check_circuit(what)
        call: Awaitable[T] = getattr(self._store, method.__name__)(*args, **named)
        return await self.circuit.call(what, call, self._limit)

    return guarded


def _patiently(what: str, method: _Method[P, T]) -> _Guarded[P, T]:
    """A call that no chat waits for, also while the circuit is open."""

    async def guarded(self: GuardedSessions, /, *args: P.args, **named: P.kwargs) -> T:
        call: Awaitable[T] = getattr(self._store, method.__name__)(*args, **named)
        return await self.circuit.call(what, call, PATIENCE)

    return guarded


def _queried(what: str, method: _Method[P, T]) -> _Guarded[P, T]:
    """A query whose length depends on the operator's filter.

    Raises QueryTimeout, which the circuit breaker does not count: the store may work for chats.
    """

    async def guarded(self: GuardedSessions, /, *args: P.args, **named: P.kwargs) -> T:
        call: Awaitable[T] = getattr(self._store, method.__name__)(*args, **named)
        return await self.circuit.call(what, self._in_time(call), PATIENCE)

    return guarded


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

        The limit is longer than for cooldowns, because a chat fails without the session store.
        `first_answer`: seconds until the store's first answer, because importing boto3 takes time.
        """
        probe = SessionId("probe")
        self.circuit = Circuit(
            lambda: store.session(probe), timeout=timeout, on_degraded=on_degraded, pause=pause
        )
        self._store = store
        self._longest_query = longest_query
        self._first_answer = first_answer

    secret = _soon("reading the sessions' secret", Sessions.secret)
    session = _soon("reading a session", Sessions.session)
    messages = _soon("reading messages", Sessions.messages)
    rate = _soon("saving a rating", Sessions.rate)
    used = _soon("measuring the store", Sessions.used)
    renew = _patiently("renewing a turn", Sessions.renew)
    finish = _patiently("saving the end of a turn", Sessions.finish)
    record = _patiently("saving a call", Sessions.record)
    save_trim_state = _patiently("saving a state of trimming", Sessions.save_trim_state)
    delete = _patiently("deleting a session", Sessions.delete)
    calls = _patiently("reading calls", Sessions.calls)
    newest = _queried("listing sessions", Sessions.newest)
    of_user = _patiently("listing the sessions of a user", Sessions.of_user)
    days = _patiently("reading days", Sessions.days)
    questions = _queried("reading questions", Sessions.questions)
    add_contact = _patiently("saving a contact request", Sessions.add_contact)
    claim_contact = _patiently("reading contact requests", Sessions.claim_contact)
    end_contact = _patiently("saving a delivery", Sessions.end_contact)
    contacts = _patiently("listing contact requests", Sessions.contacts)
    contacts_from = _patiently("finding contact requests", Sessions.contacts_from)
    mark_contact = _patiently("marking a contact request", Sessions.mark_contact)
    delete_contact = _patiently("deleting a contact request", Sessions.delete_contact)
    delete_contacts = _patiently("deleting contact requests", Sessions.delete_contacts)
    set_attendance = _patiently("saving who answers a chat", Sessions.set_attendance)
    add_line = _patiently("saving a line of an operator", Sessions.add_line)

    async def begin(self, session: Session, asked: NewMessage, now: float) -> BeginResult:
        """Begin a turn.

        If the store answers after the time limit, the turn is ended as failed. If the turn did not
        end, the visitor's next attempt would find it running.
        """
        self._check_circuit("saving a message")
        saving = started(self._store.begin(session, asked, now))
        try:
            return await self.circuit.wait("saving a message", saving, self._limit)
        except (StoreUnavailable, asyncio.CancelledError):
            self.circuit.start(self._undo(saving, now))
            raise

    async def aclose(self) -> None:
        await self.circuit.aclose()

    async def _undo(self, saving: asyncio.Future[BeginResult], now: float) -> None:
        try:
            begun = await saving
            if begun.answer is None and not begun.busy_for:
                turn = begun.message.session_id, begun.message.id
                await self._store.finish(*turn, TurnOutcome("failed"), now, begun.retries)
        except (StoreUnavailable, KeyError):
            return  # without a stored end the turn becomes `interrupted` when its lease expires

    def _check_circuit(self, what: str) -> None:
        if self.circuit.open:
            raise StoreUnavailable(f"{what}: the store does not answer")

    async def _in_time(self, query: Awaitable[T]) -> T:
        """The result of an operator's query."""
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
        """Seconds of a call that a chat waits for; None: the circuit breaker's limit."""
        return self._first_answer if self.circuit.is_new else None
