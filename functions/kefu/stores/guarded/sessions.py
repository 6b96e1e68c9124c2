"""Guards the session store: every call has a time limit, a circuit breaker skips a failing store.

A message that cannot be saved is refused with a 503. So the calls before the model have a short
time limit. The calls after it run in the background, and `kefu.sessions.turn.saving` retries
them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from kefu.errors import QueryTimeout, StoreUnavailable
from kefu.sessions.store.model import BeginResult, NewMessage, Session, SessionId, TurnOutcome
from kefu.sessions.store.ports import Sessions
from kefu.stores.guarded.circuit import PATIENCE_SECONDS, Circuit, started

P = ParamSpec("P")
T = TypeVar("T")

SESSIONS_TIMEOUT = 1.0
"""Seconds of a call that a chat waits for."""

LONGEST_QUERY = 8.0
"""Seconds for a list of the operator's panel. Less than `PATIENCE_SECONDS`, after which the store
has failed."""

_Method = Callable[Concatenate[Sessions, P], Coroutine[Any, Any, T]]
_Guarded = Callable[Concatenate["GuardedSessions", P], Coroutine[Any, Any, T]]


def _guarded(
    what: str, method: _Method[P, T], kind: Literal["chat", "query", "upkeep"] = "upkeep"
) -> _Guarded[P, T]:
    """A guarded method of the store.

    - `chat`: a chat waits for it. It raises at once while the circuit is open.
    - `query`: its length depends on what an operator asks for. It raises QueryTimeout, which the
      circuit breaker does not count: the store may work for chats.
    - `upkeep`: no chat waits for it. It is called also while the circuit is open.
    """

    async def guarded(self: GuardedSessions, /, *args: P.args, **named: P.kwargs) -> T:
        limit = self._chat_limit(what) if kind == "chat" else PATIENCE_SECONDS
        call: Awaitable[T] = getattr(self._store, method.__name__)(*args, **named)
        if kind == "query":
            call = self._in_time(call)
        return await self.circuit.call(what, call, limit)

    return guarded


class GuardedSessions:
    """Wraps a session store. Every method raises StoreUnavailable within its time limit."""

    def __init__(
        self,
        store: Sessions,
        *,
        timeout: float = SESSIONS_TIMEOUT,
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

    secret = _guarded("reading the sessions' secret", Sessions.secret, "chat")
    session = _guarded("reading a session", Sessions.session, "chat")
    messages = _guarded("reading messages", Sessions.messages, "chat")
    rate = _guarded("saving a rating", Sessions.rate, "chat")
    used = _guarded("measuring the store", Sessions.used, "chat")
    renew = _guarded("renewing a turn", Sessions.renew)
    finish = _guarded("saving the end of a turn", Sessions.finish)
    save_images = _guarded("saving images", Sessions.save_images)
    image = _guarded("reading an image", Sessions.image)
    record = _guarded("saving a call", Sessions.record)
    save_trim_state = _guarded("saving a state of trimming", Sessions.save_trim_state)
    delete = _guarded("deleting a session", Sessions.delete)
    calls = _guarded("reading calls", Sessions.calls)
    newest = _guarded("listing sessions", Sessions.newest, "query")
    of_user = _guarded("listing the sessions of a user", Sessions.of_user)
    days = _guarded("reading days", Sessions.days)
    count_assistant = _guarded("counting an assistant", Sessions.count_assistant)
    tool_days = _guarded("reading the days of tools", Sessions.tool_days)
    questions = _guarded("reading questions", Sessions.questions, "query")
    add_contact = _guarded("saving a contact request", Sessions.add_contact)
    claim_contact = _guarded("reading contact requests", Sessions.claim_contact)
    end_contact = _guarded("saving a delivery", Sessions.end_contact)
    contacts = _guarded("listing contact requests", Sessions.contacts)
    contacts_by_kind = _guarded("listing contact requests", Sessions.contacts_by_kind)
    contacts_of = _guarded("reading the contact requests of a chat", Sessions.contacts_of)
    contacts_from = _guarded("finding contact requests", Sessions.contacts_from)
    mark_contact = _guarded("marking a contact request", Sessions.mark_contact)
    redeliver_contact = _guarded("repeating a delivery", Sessions.redeliver_contact)
    mails_due = _guarded("looking for mails to visitors", Sessions.mails_due)
    set_mail = _guarded("saving a mail to a visitor", Sessions.set_mail)
    delete_contact = _guarded("deleting a contact request", Sessions.delete_contact)
    delete_contacts = _guarded("deleting contact requests", Sessions.delete_contacts)
    save_answer = _guarded("saving an answer of a person", Sessions.save_answer)
    answers = _guarded("reading answers of people", Sessions.answers)
    answers_version = _guarded("looking for answers of people", Sessions.answers_version, "chat")
    withdraw_answer = _guarded("withdrawing an answer of a person", Sessions.withdraw_answer)
    add_sign_in = _guarded("saving a sign-in", Sessions.add_sign_in)
    sign_ins = _guarded("listing the sign-ins", Sessions.sign_ins)
    has_ended = _guarded("looking for a sign-in", Sessions.has_ended, "chat")
    end_sign_in = _guarded("ending a sign-in", Sessions.end_sign_in)
    set_attendance = _guarded("saving who answers a chat", Sessions.set_attendance)
    add_line = _guarded("saving a line of an operator", Sessions.add_line)

    async def begin(self, session: Session, asked: NewMessage, now: float) -> BeginResult:
        """Begin a turn.

        If the store answers after the time limit, the turn is ended as failed. If the turn did not
        end, the visitor's next attempt would find it running.
        """
        limit = self._chat_limit("saving a message")
        saving = started(self._store.begin(session, asked, now))
        try:
            return await self.circuit.wait("saving a message", saving, limit)
        except (StoreUnavailable, asyncio.CancelledError):
            self.circuit.start(self._undo(saving, now))
            raise

    async def _undo(self, saving: asyncio.Future[BeginResult], now: float) -> None:
        try:
            begun = await saving
            if begun.answer is None and not begun.busy_for:
                turn = begun.message.session_id, begun.message.id
                await self._store.finish(*turn, TurnOutcome("failed"), now, begun.retries)
        except (StoreUnavailable, KeyError):
            return  # without a stored end the turn becomes `interrupted` when its lease expires

    def _chat_limit(self, what: str) -> float | None:
        """Seconds of a call that a chat waits for; None: those of the circuit breaker.

        Raises StoreUnavailable while the circuit is open.
        """
        if self.circuit.open:
            raise StoreUnavailable(f"{what}: the store does not answer")
        return self._first_answer if self.circuit.is_new else None

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
