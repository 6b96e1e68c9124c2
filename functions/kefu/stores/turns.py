"""What a stored turn means: one rule for every engine, so that all of them agree.

A turn is kept as one row: the visitor's message, and its answer when there is one. It has the ids
`question_id` and the one after.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from math import inf

from kefu.lean_typing import NamedTuple
from kefu.sessions import (
    LEASE,
    Asked,
    Begun,
    Ended,
    Overview,
    Rating,
    SessionId,
    Status,
    StoredMessage,
    Wanted,
)

FAR = 253_402_300_800.0
"""The year 10000: no date reaches it."""

ERRORS: tuple[Status, ...] = ("failed", "partial")


class Turn(NamedTuple):
    session_id: SessionId
    question_id: int
    question: str
    status: Status
    """As it was written: a turn left `pending` is still so here."""
    lease: float
    """Until when it is taken to be running, while it is `pending`."""
    asked_at: float
    client_message_id: str | None = None
    answer: str = ""
    answered_at: float = 0.0
    rating: Rating | None = None
    again: int = 0
    """How often it was begun before."""

    @classmethod
    def begun(cls, session_id: SessionId, question_id: int, asked: Asked, now: float) -> Turn:
        return cls(
            session_id=session_id,
            question_id=question_id,
            question=asked.content,
            status="pending",
            lease=now + LEASE,
            asked_at=now,
            client_message_id=asked.client_message_id,
        )

    def messages(self, now: float) -> tuple[StoredMessage, ...]:
        """The visitor's, and the answer if there is one."""
        asked = self.message(now)
        answer = self.answer_message(now)
        return (asked, answer) if answer else (asked,)

    def message(self, now: float) -> StoredMessage:
        return StoredMessage(
            id=self.question_id,
            session_id=self.session_id,
            role="user",
            content=self.question,
            status=seen(self.status, self.lease, now),
            created_at=self.asked_at,
            client_message_id=self.client_message_id,
        )

    def answer_message(self, now: float) -> StoredMessage | None:
        if not self.answer:
            return None
        return StoredMessage(
            id=self.question_id + 1,
            session_id=self.session_id,
            role="assistant",
            content=self.answer,
            status=seen(self.status, self.lease, now),
            created_at=self.answered_at,
            reply_to=self.question_id,
            rating=self.rating,
        )

    def met_again(self, now: float) -> Begun | None:
        """What a second `begin` hears; None: the turn is its own, to be begun again."""
        if self.status == "ok":
            return Begun(self.message(now), answer=self.answer_message(now))
        if self.status == "pending" and self.lease > now:
            return Begun(self.message(now), busy_for=self.lease - now)
        return None

    def begun_again(self, now: float) -> Turn:
        return self._replace(status="pending", lease=now + LEASE, answer="", again=self.again + 1)

    def runs_for(self, again: int) -> bool:
        """Whether it is this beginning's, and has not ended."""
        return self.status == "pending" and self.again == again


def newest_messages(
    turns: Iterable[Turn], before: int | None, limit: int, now: float
) -> list[StoredMessage]:
    """The newest `limit` messages of turns that come newest first; oldest of them first."""
    newest: list[StoredMessage] = []
    for turn in turns:
        newest += [m for m in reversed(turn.messages(now)) if before is None or m.id < before]
        if len(newest) >= limit:
            break
    return newest[:limit][::-1]


def seen(status: Status, lease: float, now: float) -> Status:
    """A status as it reads now."""
    return "interrupted" if status == "pending" and lease <= now else status


def is_error(ended: Ended) -> bool:
    return ended.status in ERRORS


def wants(wanted: Wanted, row: Overview) -> bool:
    at = row.session.updated_at
    return (
        (wanted.since is None or wanted.since <= at)
        and (wanted.until is None or at < wanted.until)
        and wanted.status in (None, row.status)
        and wanted.has_error in (None, row.errors > 0)
    )


def date_of(at: float) -> str:
    """The day of a time, in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def cursor_after(row: Overview) -> str:
    """Where the page after this row begins."""
    return f"{row.session.updated_at!r}~{row.session.id}"


def position(cursor: str) -> tuple[float, str]:
    """`(updated_at, id)` of the last row seen. Raises ValueError for what is no cursor."""
    at, separator, session_id = cursor.partition("~")
    try:
        when = float(at)
    except ValueError:
        when = inf
    if not (separator and session_id.isalnum() and abs(when) < FAR):
        raise ValueError("no cursor of a page")
    return when, session_id
