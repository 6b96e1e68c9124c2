"""Rules for stored turns, shared by all engines so that they behave alike.

A turn is one row (in DynamoDB one item): the visitor's message and its answer, if there is one.
The message has the id `question_id`, the answer the id `question_id + 1`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from math import inf
from typing import Any, NamedTuple
from zlib import crc32

from kefu.messages import APPROVAL, is_click
from kefu.sessions.store.attendance import STATES_BEFORE, Attendance, OperatorMessage, holder_before
from kefu.sessions.store.model import (
    LEASE,
    BeginResult,
    NewMessage,
    Rating,
    SessionId,
    Status,
    StoredMessage,
    TurnOutcome,
)
from kefu.sessions.store.overview import SOON, Overview, SessionFilter, ToolFilter

FAR_FUTURE = 253_402_300_800.0
"""Unix time of the year 10000, later than every stored time."""

FIRST_CURSOR = f"{FAR_FUTURE - 1}~z"
"""The cursor of the first page."""

MAX_COMMENTS = 10
"""The newest comments on the answers to a question, which an operator sees."""

MAX_USER_NUMBER = 65_521
"""The greatest number of a user. Several users may share a number, so it identifies nobody."""

TOOL_COUNTERS: Mapping[ToolFilter, str] = {
    "used": "tool_calls",
    "failed": "tool_failures",
    "declined": "declined",
}
"""The fields of `Overview` that a filter by tools looks at."""

ERRORS: tuple[Status, ...] = ("failed", "partial")


class StoredTurn(NamedTuple):
    session_id: SessionId
    question_id: int
    question: str
    status: Status
    """The stored status. `seen_at` derives the effective status."""
    lease: float
    """Unix time until which a `pending` turn counts as running."""
    asked_at: float
    client_message_id: str | None = None
    answer: str = ""
    answered_at: float = 0.0
    rating: Rating | None = None
    retries: int = 0
    """The number of retries: 0 for the first attempt."""
    operator: str = ""
    """The operator who wrote the answer. Such a turn has no question of a visitor: `question` is
    the original of an answer that was translated."""
    comment: str = ""
    """The visitor's comment on an answer that they rated down."""
    attempt: str = ""
    """`NewMessage.attempt` of the last retry."""
    unanswered: bool = False
    """Whether the site's pages did not answer. SQLite stores this field elsewhere."""
    steps: str = ""
    """The calls of tools in the answer: see `kefu.tools.use`."""
    images: str = ""
    """`StoredMessage.images` of the visitor's message."""
    follows: bool = False
    """Whether the message came within `SOON` of the visitor's message before it. SQL databases
    derive this field at the end of the turn."""

    @classmethod
    def line(
        cls, session_id: SessionId, question_id: int, line: OperatorMessage, now: float
    ) -> StoredTurn:
        """A line of an operator."""
        return cls(
            session_id=session_id,
            question_id=question_id,
            question=line.original,
            status="ok",
            lease=now,
            asked_at=now,
            client_message_id=line.client_message_id,
            answer=line.text,
            answered_at=now,
            operator=line.operator,
        )

    @classmethod
    def begun(
        cls,
        session_id: SessionId,
        question_id: int,
        asked: NewMessage,
        now: float,
        former: float = 0.0,
    ) -> StoredTurn:
        """A turn that begins. `former`: the time of the visitor's message before; 0.0: none."""
        return cls(
            session_id=session_id,
            question_id=question_id,
            question=asked.content,
            status="pending",
            lease=now + LEASE,
            asked_at=now,
            client_message_id=asked.client_message_id,
            images=asked.images,
            follows=is_soon(former, now),
        )

    def messages(self, now: float) -> tuple[StoredMessage, ...]:
        """Return the visitor's message, and the answer if there is one."""
        asked = () if self.operator else (self.message(now),)
        answer = self.answer_message(now)
        return (*asked, answer) if answer else asked

    def message(self, now: float) -> StoredMessage:
        return StoredMessage(
            id=self.question_id,
            session_id=self.session_id,
            role="user",
            content=self.question,
            status=self.seen_at(now),
            created_at=self.asked_at,
            client_message_id=self.client_message_id,
            steps=self.steps,
            images=self.images,
        )

    def answer_message(self, now: float) -> StoredMessage | None:
        if not self.answer:
            return None
        return StoredMessage(
            id=self.question_id + 1,
            session_id=self.session_id,
            role="assistant",
            content=self.answer,
            status=self.seen_at(now),
            created_at=self.answered_at,
            reply_to=None if self.operator else self.question_id,
            rating=self.rating,
            comment=self.comment,
            operator=self.operator,
            steps=self.steps,
            original=self.question if self.operator else "",
        )

    def seen_at(self, now: float) -> Status:
        """Return the effective status. A complete answer stays `ok` while a new answer is awaited,
        and if that answer fails.
        """
        if self.answer and self.status in ("pending", "failed"):
            return "ok"
        return seen(self.status, self.lease, now)

    def met_again(self, asked: NewMessage, now: float) -> BeginResult | None:
        """Return the result of a second `begin` for the same message.

        The result contains the stored answer, or the seconds that the first attempt may still run.
        None if the first attempt has failed or expired, or `asked` wants a new answer, so the
        caller may begin the turn again.
        """
        is_repeated = bool(asked.attempt) and asked.attempt == self.attempt
        if self.status == "ok" and (not asked.replaces or is_repeated):
            return BeginResult(self.message(now), answer=self.answer_message(now))
        if self.status == "pending" and self.lease > now:
            return BeginResult(self.message(now), busy_for=min(self.lease - now, LEASE))
        return None

    def is_ahead(self, now: float) -> bool:
        """Whether the lease is longer than any lease of this clock. A store then shortens it."""
        return self.status == "pending" and self.lease > now + LEASE

    def retried(self, asked: NewMessage, now: float) -> dict[str, Any]:
        """The fields that a retry changes, besides `again`.

        A complete answer stays; a partial answer is removed.
        """
        begun = {"status": "pending", "lease": now + LEASE, "attempt": asked.attempt}
        return {**begun, "answer": ""} if self.status == "partial" else begun

    def begun_again(self, asked: NewMessage, now: float) -> StoredTurn:
        """Return the turn for a retry."""
        return self._replace(retries=self.retries + 1, **self.retried(asked, now))

    def ended(self, ended: TurnOutcome, now: float) -> StoredTurn:
        if not ended.text:
            at, steps = self.answered_at or now, ended.steps or self.steps
            return self._replace(status=ended.status, answered_at=at, steps=steps)
        return self._replace(**answered(ended, now))

    def is_asked(self, since: float, until: float, *, gaps: bool) -> bool:
        """Whether `SessionIndex.questions` counts this turn's question: with its earlier answer,
        while a new answer is awaited.
        """
        is_gap = self.unanswered or self.rating == "down"
        has_ended = self.status != "pending" or self.answer
        is_question = not self.operator and not is_click(self.client_message_id)
        return (
            bool(has_ended)
            and is_question
            and since <= self.answered_at < until
            and (is_gap or not gaps)
        )

    def runs_for(self, retries: int) -> bool:
        """Whether the turn is `pending` and attempt `retries` is the latest."""
        return self.status == "pending" and self.retries == retries


def is_soon(former: float, now: float) -> bool:
    """Whether a message comes within `SOON` of the one before, at `former`; 0.0: there is none."""
    return former > 0 and now - former < SOON


def newest_messages(
    turns: Iterable[StoredTurn], before: int | None, limit: int, now: float
) -> list[StoredMessage]:
    """Return the newest `limit` messages, in ascending order.

    `turns` are in descending order. `before`: only messages with a smaller id.
    """
    newest: list[StoredMessage] = []
    for turn in turns:
        newest += [m for m in reversed(turn.messages(now)) if before is None or m.id < before]
        if len(newest) >= limit:
            break
    return newest[:limit][::-1]


def seen(status: Status, lease: float, now: float) -> Status:
    """Return the effective status: a `pending` turn with an expired lease is `interrupted`."""
    return "interrupted" if status == "pending" and lease <= now else status


def newest_comment(turns: Sequence[StoredTurn]) -> str:
    """The comment on the newest answer with a comment. The turns are in ascending order."""
    return next((turn.comment for turn in reversed(turns) if turn.comment), "")


def may_change(before: Attendance, after: Attendance, taken_from: str) -> bool:
    if before.state == "person":
        return before.operator == holder_before(after, taken_from)
    return before.state in STATES_BEFORE[after.state]


def answered(ended: TurnOutcome, now: float) -> dict[str, Any]:
    """The fields of a turn that an outcome with a text changes."""
    return {
        "status": ended.status,
        "answer": ended.text,
        "answered_at": now,
        "rating": None,
        "comment": "",
        "unanswered": ended.unanswered,
        "steps": ended.steps,
        **({"question": ended.question} if ended.question else {}),
        **({} if ended.images is None else {"images": ended.images}),
    }


def is_error(ended: TurnOutcome) -> bool:
    return ended.status in ERRORS


def wants(wanted: SessionFilter, row: Overview) -> bool:
    """Whether a session matches the filter."""
    at = row.session.updated_at
    return (
        (wanted.since is None or wanted.since <= at)
        and (wanted.until is None or at < wanted.until)
        and wanted.status in (None, row.status)
        and wanted.has_error in (None, row.errors > 0)
        and wanted.state in (None, row.session.attendance.state)
        and (not wanted.unanswered or row.unanswered > 0)
        and (wanted.tool is None or getattr(row, TOOL_COUNTERS[wanted.tool]) > 0)
        and (wanted.rating != "up" or row.ups > 0)
        and (wanted.rating != "down" or row.downs > 0)
        and wanted.config_id in ("", row.session.config_id)
        and wanted.user in ("", row.session.user)
    )


def bucket_of(user: str) -> int:
    """The number by which the chats of a user are found. It is stored: never change its rule."""
    return 1 + crc32(user.encode("utf-8", "replace")) % MAX_USER_NUMBER if user else 0


class DayChange(NamedTuple):
    """An addition to the sums of a day; the fields of `Day`."""

    date: str
    by: Mapping[str, int]


def ended_turn(turn: StoredTurn, ended: TurnOutcome, now: float) -> DayChange:
    """How the end of a turn changes the counters of its day. `turn` is the turn before.

    A chat counts when its first turn ends for the first time.
    """
    counts = {
        "chats": int(turn.question_id == 1 and not turn.answered_at),
        "turns": 1,
        "errors": int(is_error(ended)),
        "prompt_tokens": ended.prompt_tokens,
        "completion_tokens": ended.completion_tokens,
        "unanswered": int(ended.unanswered),
        **_served(turn, ended, now),
    }
    if ended.first_word is not None:
        counts |= {"first_words": 1, "first_word_ms": round(1000 * ended.first_word)}
    return DayChange(date_of(now), {name: by for name, by in counts.items() if by})


def _served(turn: StoredTurn, ended: TurnOutcome, now: float) -> dict[str, int]:
    """What an ended turn adds to `answers`, `again` and `proved`. `turn` is the turn before.

    A turn without a text is one that a person answers, unless it failed.
    """
    is_of_click = (turn.client_message_id or "").startswith(APPROVAL)
    if is_of_click or not (ended.text or is_error(ended)):
        return {}
    is_first = not turn.answered_at
    is_again = turn.follows if is_first else bool(turn.answer) and is_soon(turn.answered_at, now)
    is_answer = ended.status == "ok"
    return {
        "again": int(is_again),
        "answers": int(is_answer),
        "proved": int(is_answer and ended.proved),
    }


def rated(before: Rating | None, after: Rating | None) -> dict[str, int]:
    """The changes of `ups` and `downs`, without zeros."""
    changes = {
        "ups": (after == "up") - (before == "up"),
        "downs": (after == "down") - (before == "down"),
    }
    return {name: by for name, by in changes.items() if by}


def date_of(at: float) -> str:
    """Return the UTC date (YYYY-MM-DD) of a Unix time."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def cursor_after(row: Overview) -> str:
    """Return the cursor of the page that follows this row."""
    return f"{row.session.updated_at!r}~{row.session.id}"


def position(cursor: str | None, until: float | None) -> tuple[float, str]:
    """The position `(updated_at, id)` before which the rows of a page are.

    That of the previous page's last row, in its cursor, or the limit `until` of the filter. Raises
    ValueError if the cursor is invalid.
    """
    first = FAR_FUTURE if until is None else until, ""
    if cursor is None:
        return first
    at, separator, session_id = cursor.partition("~")
    try:
        when = float(at)
    except ValueError:
        when = inf
    if not (separator and session_id.isalnum() and abs(when) < FAR_FUTURE):
        raise ValueError("the cursor is not valid")
    return min(first, (when, session_id))
