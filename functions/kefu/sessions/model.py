"""Defines the data of stored chats, and the ports of their stores.

A turn has two writes: `begin` saves the visitor's message before the request to the model, `finish`
saves the answer or the failure. A process can be killed between the two. A message that is still
`pending` after its lease therefore reads as `interrupted`.

Each turn reserves two ids: an odd one for the question, the next one for its answer. The order by
id is then correct even if two tabs ask at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, NewType, Protocol

from kefu.messages import Role
from kefu.sessions.contacts import ContactStore
from kefu.sessions.people import Attendance, AttendanceStore, State

SessionId = NewType("SessionId", str)

Status = Literal["pending", "ok", "failed", "partial", "interrupted"]
"""Status of a message. Question and answer of a turn have the same status. Only messages with `ok`
are sent to the model as history.
"""

Rating = Literal["up", "down"]

LEASE = 15.0
"""Seconds for which a turn counts as running after its `begin` or its last `renew`.

A lease that ends later is from a clock that was ahead. The next `begin` of its message cuts it to
this length. A process whose clock is ahead of the owner's by half of it may take a running turn.
"""


class Retention(NamedTuple):
    """How long data is stored, in seconds."""

    session: float = 30 * 86400.0
    """Sessions, from the visitor's last message."""
    raw: float = 7 * 86400.0
    """Raw requests and responses, from the request."""


class Session(NamedTuple):
    id: SessionId
    title: str
    config_id: str
    created_at: float
    """Unix time in seconds, like all times in this module."""
    updated_at: float
    """Time of the visitor's last message."""
    attendance: Attendance = Attendance()
    """Who answers the chat."""
    trim_state: str = ""
    """The state of trimming, as saved by `save_trim_state`. Only `SessionStore.session` reads it;
    elsewhere it is empty."""
    user: str = ""
    """The site's id of the visitor, from a checked user token; empty for an anonymous visitor."""


class StoredMessage(NamedTuple):
    id: int
    """Ascending within the session, starting with 1, possibly with gaps."""
    session_id: SessionId
    role: Role
    content: str
    status: Status
    created_at: float
    reply_to: int | None = None
    """For an answer: the id of its question."""
    client_message_id: str | None = None
    """For a visitor's message: the client's id, by which a retry is recognized."""
    rating: Rating | None = None
    comment: str = ""
    """For an answer that was rated down: what the visitor wrote about it."""
    operator: str = ""
    """For a line of a person: the name of the operator. It is an answer without a question."""


class NewMessage(NamedTuple):
    """A visitor's message that is not saved yet."""

    content: str
    client_message_id: str | None = None
    again: bool = False
    """Whether a message that has a complete answer gets a new one."""
    attempt: str = ""
    """With `again`: the client's id of this request, by which its retry is recognized."""


class BeginResult(NamedTuple):
    """The result of `begin`.

    - `answer` is set: the message was answered before; return this answer.
    - `busy_for` > 0: another request is answering the message, for at most this many seconds.
    - otherwise: the caller owns the turn. It must call `renew` before the lease ends, and `finish`
      at the end of the turn.
    """

    message: StoredMessage
    answer: StoredMessage | None = None
    busy_for: float = 0.0
    again: int = 0
    """Number of earlier tries of this turn. It identifies the owner in `renew` and `finish`."""
    replaces: bool = False
    """Whether the message has a complete answer, which a text given to `finish` will replace."""


class TurnOutcome(NamedTuple):
    """How a turn ended. `status` is that of both messages; an empty `text` is not saved.

    The tokens are the sums over the calls of the turn, for the operator's statistics.
    """

    status: Literal["ok", "failed", "partial"]
    text: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unanswered: bool = False
    """Whether the site's pages did not answer the question."""
    first_word: float | None = None
    """Seconds from the question to the first word of the answer; None without one."""


class CallRecord(NamedTuple):
    """One request to a model with its response. Times are in seconds."""

    session_id: SessionId
    message_id: int
    """The visitor's message that caused the request."""
    number: int
    """Number of the call for this message, in order, starting with 1, possibly with gaps."""
    attempt: int
    """Number of keys that were tried. If the request was answered, the last key was successful."""
    created_at: float
    request: bytes | None
    """The body that was sent, with secrets replaced. None if it was not captured or was deleted."""
    response: str | None
    """A JSON object `{id, model, choices, usage}`, merged from the chunks."""
    meta: str
    """A JSON object with further facts; `kefu.sessions.call_log` describes its fields."""
    finish_reason: str | None
    stream_complete: bool
    ttft: float | None
    """Time to the first event; None without one."""
    duration: float
    error: str | None
    """The `error` object of an error response, as JSON; None for a complete answer."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


CALL_FACTS = (
    "message_id",
    "number",
    "attempt",
    "created_at",
    "finish_reason",
    "stream_complete",
    "ttft",
    "duration",
    "prompt_tokens",
    "completion_tokens",
)
"""The fields of a CallRecord that are plain values, without the session id and the JSON texts."""


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

        Atomic. Of concurrent calls with one `client_message_id`, one gets the turn and the others
        get `busy_for`. A turn that is failed, partial or interrupted starts again with the same
        message, and with `asked.again` a complete one, too, but once for each `asked.attempt`. Its
        answer stays, with the status `ok`, until `finish` has the text of the new one. The session
        may be created only if `session.created_at == now`. Otherwise an absent session was deleted,
        and the call raises KeyError.
        """
        ...

    async def renew(self, session_id: SessionId, message_id: int, again: int, now: float) -> bool:
        """Extend the lease of a running turn to `now + LEASE`.

        Returns False when the caller no longer owns the turn: it has ended, started again or was
        deleted. The end of the lease is not compared, because a process with another clock may have
        cut it.
        """
        ...

    async def finish(
        self, session_id: SessionId, message_id: int, ended: TurnOutcome, now: float, again: int = 0
    ) -> StoredMessage | None:
        """Save the outcome of a turn; returns the saved answer, or None.

        A text replaces the former answer with its rating and comment. Without one the former answer
        stays.

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

        Rating and comment replace the former ones.
        """
        ...

    async def save_trim_state(self, session_id: SessionId, state: str) -> None:
        """Save `Session.trim_state`, a small JSON text. The last one saved is kept.

        Does nothing for a session that is absent, deleted or expired.
        """
        ...

    async def delete(self, session_id: SessionId) -> None:
        """Delete a session with its messages and calls. Idempotent."""
        ...


class CallStore(Protocol):
    """Stores the requests to models and their responses, for operators."""

    async def record(self, call: CallRecord, known: Sequence[StoredMessage] | None = None) -> None:
        """Save a call, unless its session was deleted. Replaces a call with the same number.

        `known` are stored messages of the session; their texts are not stored again with the
        bodies. With None, the store reads the newest messages itself.
        """
        ...

    async def calls(self, session_id: SessionId) -> Sequence[CallRecord]:
        """The calls of a session, by message id and number, without calls older than
        `Retention.raw`.
        """
        ...


class Wanted(NamedTuple):
    """A filter for the operator's list of sessions; None and "" match all sessions."""

    since: float | None = None
    until: float | None = None
    """Limits for the visitor's last message: `since <= updated_at < until`."""
    status: Status | None = None
    """Status of the turn that started or ended last."""
    has_error: bool | None = None
    """Whether any turn ended as `failed` or `partial`."""
    state: State | None = None
    """Who answers the chat."""
    rating: Rating | None = None
    """A rating that an answer of the session has."""
    unanswered: bool = False
    """Only sessions with a question that the site's pages did not answer."""
    config_id: str = ""
    user: str = ""
    text: str = ""
    """Words. A session matches if one of its turns contains all of them."""


class Overview(NamedTuple):
    """A session as a row of the panel's list."""

    session: Session
    turns: int
    tokens: int
    errors: int
    """Number of turns that ended as `failed` or `partial`; a retried turn may count twice."""
    status: Status
    unanswered: int = 0
    """Number of questions that the site's pages did not answer."""
    ups: int = 0
    downs: int = 0
    """Numbers of answers with these ratings."""
    comment: str = ""
    """The comment on the newest answer that has one."""


class Page(NamedTuple):
    """A page of the operator's list of sessions."""

    rows: Sequence[Overview]
    cursor: str | None
    """Cursor of the next page; None on the last page."""
    read: int | None = None
    """Of a search without an index: the sessions whose texts were read for this page."""
    waiting: int = 0
    """Of a search with an index: the turns to be indexed before it can be searched. The page has no
    rows then, and its cursor repeats the search."""


class Day(NamedTuple):
    """Sums over one UTC day. `date` is like 2026-01-31. Deleted chats stay in the sums.

    Turns count on the day on which they ended, ratings on the day of their answer.
    """

    date: str
    turns: int = 0
    errors: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    chats: int = 0
    """New chats, by the end of their first turn."""
    unanswered: int = 0
    """Questions that the site's pages did not answer."""
    ups: int = 0
    downs: int = 0
    handoffs: int = 0
    """Requests for a person."""
    first_words: int = 0
    """Answers with a first word."""
    first_word_ms: int = 0
    """The sum of their times to the first word, in milliseconds."""


class AskedQuestion(NamedTuple):
    """A visitor's question whose turn has ended, with all that have the same terms."""

    text: str
    """As it was asked last."""
    session_id: SessionId
    """The chat in which it was asked last."""
    at: float
    times: int
    unanswered: int
    """The number of times that the site's pages did not answer it."""
    downs: int
    """The number of answers that were rated down."""
    comments: Sequence[str] = ()
    """The newest comments on these answers, newest first."""


class AskedQuestions(NamedTuple):
    """The questions that were asked most."""

    questions: Sequence[AskedQuestion]
    read: int
    """The number of questions that were grouped."""
    is_whole: bool
    """Whether these are all questions of the period. Otherwise they are the newest ones, or some
    are not in the index yet."""


class UserSessions(NamedTuple):
    """A part of the sessions of one user."""

    ids: Sequence[SessionId]
    cursor: str | None
    """Cursor of the next part; None for the last one."""
    read: int
    """The number of rows or items that were read for this part."""


class SessionIndex(Protocol):
    """Lists all sessions, for operators."""

    async def newest(self, wanted: Wanted, cursor: str | None, limit: int, now: float) -> Page:
        """A page of sessions, by the visitor's last message, newest first.

        A session that changes between two pages may be listed twice or not at all. A page may have
        fewer rows than `limit`, even none; only a cursor of None marks the end. Raises ValueError
        for an invalid cursor.
        """
        ...

    async def of_user(self, user: str, cursor: str | None) -> UserSessions:
        """A part of all sessions of a user, in no order.

        Sessions are among them that have expired, and those whose deletion was interrupted. A part
        may be empty; only a cursor of None marks the end.
        """
        ...

    async def days(self, since: str, until: str) -> Sequence[Day]:
        """The days from `since` to `until`, both included, on which anything happened, in order."""
        ...

    async def questions(
        self, since: float, until: float, limit: int, now: float, *, gaps: bool = False
    ) -> AskedQuestions:
        """The questions that were asked most in `since <= at < until`, at most `limit`.

        Questions with the same terms are one. Of two that were asked equally often, the one that
        was asked later comes first. `gaps`: only those that were not answered or whose answer was
        rated down. A store may look at its newest sessions alone.
        """
        ...


class Sessions(SessionStore, CallStore, SessionIndex, ContactStore, AttendanceStore, Protocol):
    """All five ports; each database engine implements them together."""

    async def used(self) -> int | None:
        """The bytes that the store takes, its log included; None where they are not counted.

        Cheap enough to be called several times a second. Raises StoreUnavailable.
        """
        ...
