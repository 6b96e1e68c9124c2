"""Defines the data of stored chats.

A turn has two writes: `begin` saves the visitor's message before the request to the model, `finish`
saves the answer or the failure. A process can be killed between the two. A message that is still
`pending` after its lease therefore reads as `interrupted`.

Each turn reserves two ids: an odd one for the question, the next one for its answer. The order by
id is then correct even if two tabs ask at the same time.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, NewType

from kefu.messages import Role
from kefu.sessions.store.attendance import Attendance

SessionId = NewType("SessionId", str)

Status = Literal["pending", "ok", "failed", "partial", "interrupted"]
"""Status of a message. Question and answer of a turn have the same status. Only messages with `ok`
are sent to the model as history.
"""

Rating = Literal["up", "down"]

LEASE = 15.0
"""Seconds for which a turn counts as running after its `begin` or its last `renew`.

A lease that ends later is from a clock that was ahead. The next `begin` of the message shortens it
to this length. A process whose clock is half a lease ahead may take a running turn.
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
    """The answering side: the model or a person."""
    trim_state: str = ""
    """The state of trimming, as saved by `save_trim_state`. Only `SessionStore.session` reads the
    state; elsewhere it is empty."""
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
    """The id of the question; only for an answer."""
    client_message_id: str | None = None
    """For a visitor's message: the client's id, by which a retry is recognized."""
    rating: Rating | None = None
    comment: str = ""
    """For an answer that was rated down: the visitor's comment."""
    operator: str = ""
    """The name of the operator who wrote the line; "" for other messages."""
    steps: str = ""
    """The calls of tools between question and answer, which both have: see `kefu.tools.use`."""
    images: str = ""
    """For a visitor's message: types and sizes of its images, as `kefu.images.stored` writes them.
    """
    original: str = ""
    """For a line of an operator that is a translation: what the operator wrote."""


class NewMessage(NamedTuple):
    """A visitor's message that is not saved yet."""

    content: str
    client_message_id: str | None = None
    replaces: bool = False
    """Whether a message with a complete answer gets a new answer."""
    attempt: str = ""
    """The client's id of a request with `replaces`, by which a retry is recognized."""
    images: str = ""
    """As in `StoredMessage`. A message that is sent again keeps the images that it had."""


class BeginResult(NamedTuple):
    """The result of `begin`.

    - `answer` is set: the message was answered before; return this answer.
    - `busy_for` > 0: another request is answering the message, for at most this many seconds.
    - otherwise: the caller owns the turn. The owner of a turn must call `renew` before the lease
      ends, and `finish` at the end of the turn.
    """

    message: StoredMessage
    answer: StoredMessage | None = None
    busy_for: float = 0.0
    retries: int = 0
    """Number of earlier tries of this turn, which identifies the owner in `renew` and `finish`."""
    replaces: bool = False
    """Whether the message has a complete answer, which a text given to `finish` will replace."""


class TurnOutcome(NamedTuple):
    """How a turn ended. Question and answer get `status`; an empty `text` is not saved.

    The tokens are the sums over the calls of the turn, for the operator's statistics.
    """

    status: Literal["ok", "failed", "partial"]
    text: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unanswered: bool = False
    """Whether the site's pages did not answer the question; only with the status `ok`."""
    first_word: float | None = None
    """Seconds from the question to the first word of the answer; None without a word."""
    steps: str = ""
    """The calls of tools, as `kefu.tools.use.stored` writes them; "" without calls."""
    question: str = ""
    """The message's new text, if its visitor has changed it. Saved only together with `text`, so
    that a failure leaves the earlier question with its answer."""
    images: str | None = None
    """The message's new images, as in `StoredMessage`; None: unchanged. Saved as `question` is."""
    proved: bool = False
    """Whether the answer cites a source of the site's pages."""


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
    """The body that was sent, with secrets replaced. None without capture or after its deletion."""
    response: str | None
    """A JSON object `{id, model, choices, usage}`, merged from the chunks."""
    meta: str
    """A JSON object with further facts; `kefu.sessions.turn.call_log` describes its fields."""
    finish_reason: str | None
    stream_complete: bool
    ttft: float | None
    """Time to the first event; None without an event."""
    duration: float
    error: str | None
    """The `error` object of an error response, as JSON; None for a complete answer."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
