"""Defines the ports of the stores of chats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kefu.sessions.store.answers import AnswerStore
from kefu.sessions.store.attendance import AttendanceStore
from kefu.sessions.store.contacts import ContactStore
from kefu.sessions.store.model import (
    BeginResult,
    CallRecord,
    NewMessage,
    Rating,
    Session,
    SessionId,
    StoredMessage,
    TurnOutcome,
)
from kefu.sessions.store.overview import (
    AskedQuestions,
    Day,
    Page,
    SessionFilter,
    ToolDay,
    UserSessions,
)
from kefu.sessions.store.passes import PassStore


class SessionStore(Protocol):
    """Stores sessions and their messages. Every method raises StoreUnavailable on failure."""

    async def secret(self, candidate: str) -> str:
        """The secret that signs session tokens. The first call stores `candidate` as the secret."""
        ...

    async def session(self, session_id: SessionId) -> Session | None:
        """The session; None if it is absent, deleted or expired."""
        ...

    async def begin(self, session: Session, asked: NewMessage, now: float) -> BeginResult:
        """Save a visitor's message; for a new chat, save the session, too.

        Atomic. Of concurrent calls with one `client_message_id`, one call gets the turn, the others
        get `busy_for`. A turn that is failed, partial or interrupted starts again with the same
        message; with `asked.replaces` a complete turn does, too, but once for each `asked.attempt`.
        The replaced answer stays, with the status `ok`, until `finish` has the text of the new one.
        The session may be created only if `session.created_at == now`. Else an absent session was
        deleted, and the call raises KeyError.
        """
        ...

    async def renew(
        self,
        session_id: SessionId,
        message_id: int,
        retries: int,
        now: float,
        steps: str | None = None,
    ) -> bool:
        """Extend the lease of a running turn to `now + LEASE`, and save `steps` unless it is None.

        Returns False when the caller no longer owns the turn: it has ended, started again or was
        deleted. The end of the lease is not compared, because a process with another clock may have
        cut it.
        """
        ...

    async def finish(
        self,
        session_id: SessionId,
        message_id: int,
        ended: TurnOutcome,
        now: float,
        retries: int = 0,
    ) -> StoredMessage | None:
        """Save the outcome of a turn; returns the saved answer, or None.

        A text replaces the earlier answer, its rating and its comment. Without a text the earlier
        answer stays.

        Idempotent: the first outcome is kept. Does nothing for a session that was deleted, and for
        a turn that another request has started again.
        """
        ...

    async def messages(
        self, session_id: SessionId, *, before: int | None = None, limit: int = 20, now: float
    ) -> Sequence[StoredMessage]:
        """The newest `limit` messages with ids below `before`, by ascending id."""
        ...

    async def rate(
        self,
        session_id: SessionId,
        client_message_id: str,
        rating: Rating | None,
        comment: str = "",
    ) -> bool:
        """Save the rating of the answer to a message; False if there is no such answer.

        Rating and comment replace earlier values.
        """
        ...

    async def save_trim_state(self, session_id: SessionId, state: str) -> None:
        """Save `Session.trim_state`, a small JSON text. The last saved state is kept.

        Does nothing for a session that is absent, deleted or expired.
        """
        ...

    async def delete(self, session_id: SessionId) -> None:
        """Delete a session with its messages and calls. Idempotent."""
        ...


class ImageStore(Protocol):
    """Stores the images of visitors' messages, for as long as their sessions."""

    async def save_images(
        self, session_id: SessionId, message_id: int, images: Sequence[bytes]
    ) -> None:
        """Save the images of a message that `begin` has saved, in place of all that it had.

        Saves nothing for a session that is absent, deleted or expired.
        """
        ...

    async def image(self, session_id: SessionId, message_id: int, number: int) -> bytes | None:
        """An image by its number in its message, from 0; None if it is absent."""
        ...


class CallStore(Protocol):
    """Stores the requests to models and their responses, for operators."""

    async def record(self, call: CallRecord) -> None:
        """Save a call, unless its session was deleted. Replaces a call with the same number."""
        ...

    async def calls(self, session_id: SessionId) -> Sequence[CallRecord]:
        """The calls of a session, by message id and number, without calls older than
        `Retention.raw`. `meta.damaged` names the unreadable parts of a damaged call.
        """
        ...


class SessionIndex(Protocol):
    """Lists all sessions, for operators."""

    async def newest(
        self, wanted: SessionFilter, cursor: str | None, limit: int, now: float
    ) -> Page:
        """A page of sessions, by the visitor's last message, newest first.

        A session that changes between two pages may be listed twice or not at all. A page may have
        fewer rows than `limit`, even none; only a cursor of None marks the end. Raises ValueError
        for an invalid cursor.
        """
        ...

    async def of_user(self, user: str, cursor: str | None) -> UserSessions:
        """A part of all sessions of a user, in no order.

        Includes expired sessions, and sessions whose deletion was interrupted. A part may be empty;
        only a cursor of None marks the end.
        """
        ...

    async def days(self, since: str, until: str) -> Sequence[Day]:
        """The days from `since` to `until`, both included, on which anything happened, in order."""
        ...

    async def count_assistant(self, now: float) -> None:
        """Add a request of an assistant to the sums of its day."""
        ...

    async def tool_days(self, since: str, until: str) -> Sequence[ToolDay]:
        """The calls of tools from day `since` to day `until`, both included, by day and name."""
        ...

    async def questions(
        self, since: float, until: float, limit: int, now: float, *, gaps: bool = False
    ) -> AskedQuestions:
        """The questions that were asked most in `since <= at < until`, at most `limit`.

        Questions with the same terms count as one question. Of questions that were asked equally
        often, the newest comes first. `gaps`: only questions without an answer, or with an answer
        that was rated down. A store may look at its newest sessions alone.
        """
        ...


class Sessions(
    SessionStore,
    ImageStore,
    CallStore,
    SessionIndex,
    ContactStore,
    AttendanceStore,
    AnswerStore,
    PassStore,
    Protocol,
):
    """All eight ports; each database engine implements them together."""

    async def used(self) -> int | None:
        """The bytes that the store takes, its log included; None for a store without a count.

        Cheap enough to be called several times a second. Raises StoreUnavailable.
        """
        ...
