"""Kept chats whose store may be slow or away: every wait is bounded, and a dead store is known.

A chat that cannot be kept is not answered (503), so what comes before the model fails in time. What
comes after it nobody waits for: `kefu.keeping` tries that again, for as long as is sensible.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TypeVar

from kefu.errors import StoreUnavailable
from kefu.sessions import (
    Asked,
    Begun,
    CallRecord,
    Day,
    Ended,
    Page,
    Rating,
    Session,
    SessionId,
    Sessions,
    StoredMessage,
    Wanted,
)
from kefu.stores.circuit import PATIENCE, Circuit
from kefu.stores.guarded import Background

T = TypeVar("T")

IN_A_ROW = 3
"""Calls that must fail before nobody waits for the store any more: each is a chat refused."""


class GuardedSessions:
    """Sessions around others; raises StoreUnavailable in bounded time.

    The store itself is closed by whoever made it.
    """

    def __init__(
        self,
        store: Sessions,
        *,
        timeout: float = 1.0,
        first_answer: float = 3.0,
        on_degraded: Callable[[str], None],
        pause: float = 3.0,
    ) -> None:
        """`first_answer`: seconds for a store that has never answered: its library may be loading.

        `timeout` is for one call, which may be several questions to the store: more than a
        cooldown has, because without an answer there is no chat.
        """
        probe = SessionId("probe")
        self.circuit = Circuit(
            lambda: store.session(probe), timeout=timeout, on_degraded=on_degraded, pause=pause
        )
        self._store = store
        self._first_answer = first_answer
        self._on_degraded = on_degraded
        self._starting = True
        self._failed = 0
        self._background = Background()

    async def secret(self, candidate: str) -> str:
        return await self._soon("reading the sessions' secret", self._store.secret(candidate))

    async def session(self, session_id: SessionId) -> Session | None:
        return await self._soon("reading a session", self._store.session(session_id))

    async def begin(self, session: Session, asked: Asked, now: float) -> Begun:
        """One that comes too late for its caller is ended at once, or the visitor's next try
        would find it running.
        """
        if self.circuit.open:
            raise StoreUnavailable("saving a message: the store does not answer")
        saving = asyncio.ensure_future(self._store.begin(session, asked, now))
        try:
            return await self._soon("saving a message", asyncio.shield(saving))
        except (StoreUnavailable, asyncio.CancelledError):
            self._background.start(self._undo(saving, now))
            raise

    async def messages(
        self, session_id: SessionId, *, before: int | None = None, limit: int = 20, now: float
    ) -> Sequence[StoredMessage]:
        read = self._store.messages(session_id, before=before, limit=limit, now=now)
        return await self._soon("reading messages", read)

    async def rate(
        self, session_id: SessionId, client_message_id: str, rating: Rating | None
    ) -> bool:
        return await self._soon(
            "saving a rating", self._store.rate(session_id, client_message_id, rating)
        )

    async def renew(self, session_id: SessionId, message_id: int, again: int, now: float) -> bool:
        longer = self._store.renew(session_id, message_id, again, now)
        return await self._patiently("renewing a turn", longer)

    async def finish(
        self, session_id: SessionId, message_id: int, ended: Ended, now: float, again: int = 0
    ) -> StoredMessage | None:
        """Waits longer, and does not give up because others failed: so much text is at stake."""
        end = self._store.finish(session_id, message_id, ended, now, again)
        return await self._patiently("saving the end of a turn", end)

    async def record(self, call: CallRecord, known: Sequence[StoredMessage] | None = None) -> None:
        await self._patiently("saving a call", self._store.record(call, known))

    async def delete(self, session_id: SessionId) -> None:
        await self._patiently("deleting a session", self._store.delete(session_id))

    async def calls(self, session_id: SessionId) -> Sequence[CallRecord]:
        return await self._patiently("reading calls", self._store.calls(session_id))

    async def newest(self, wanted: Wanted, cursor: str | None, limit: int, now: float) -> Page:
        page = self._store.newest(wanted, cursor, limit, now)
        return await self._patiently("listing sessions", page)

    async def days(self, since: str, until: str) -> Sequence[Day]:
        return await self._patiently("reading days", self._store.days(since, until))

    async def aclose(self) -> None:
        await self.circuit.aclose()
        await self._background.aclose(self.circuit.timeout)

    async def _undo(self, saving: asyncio.Future[Begun], now: float) -> None:
        try:
            begun = await saving
            if begun.answer is None and not begun.busy_for:
                place = begun.message.session_id, begun.message.id
                await self._store.finish(*place, Ended("failed"), now, begun.again)
        except (StoreUnavailable, KeyError):
            return  # nothing was begun, or it will read as interrupted

    async def _soon(self, what: str, call: Awaitable[T]) -> T:
        if self.circuit.open:
            if isinstance(call, Coroutine):
                call.close()
            raise StoreUnavailable(f"{what}: the store does not answer")
        limit = self._first_answer if self._starting else self.circuit.timeout
        return await self._within(limit, what, call)

    async def _patiently(self, what: str, call: Awaitable[T]) -> T:
        return await self._within(PATIENCE, what, call)

    async def _within(self, limit: float, what: str, call: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(limit):
                answer = await call
        except (StoreUnavailable, TimeoutError) as error:
            self._note(what, error)
            raise StoreUnavailable(f"{what}: {_words(error, limit)}") from error
        self._starting = False
        self._failed = 0
        return answer

    def _note(self, what: str, error: Exception) -> None:
        self._starting = False
        self._failed += 1
        if self._failed >= IN_A_ROW:
            self._failed = 0
            self.circuit.trip(what, error)
        elif not self.circuit.open:
            self._on_degraded(f"{what}: {_words(error, self.circuit.timeout)}")


def _words(error: Exception, limit: float) -> str:
    return f"no answer in {limit:g} s" if isinstance(error, TimeoutError) else str(error)
