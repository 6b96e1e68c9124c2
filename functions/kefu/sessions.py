"""Chats kept on the server: what one consists of, and the ports of the stores that keep it.

A turn is two writes: `begin` saves the visitor's message before a model is asked, `finish` saves
the answer, or that there is none. What lies between, a process may be killed in: a message left
`pending` beyond its lease reads as `interrupted`.

A turn has two ids, so that an answer follows its question however two tabs interleave: the
message's, which is odd, and the next one, which its answer will have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NewType

from kefu.lean_typing import NamedTuple, Protocol
from kefu.messages import Role

SessionId = NewType("SessionId", str)

Status = Literal["pending", "ok", "failed", "partial", "interrupted"]
"""Of a message. A turn's two messages have the same; only `ok` ones are told to a model again."""

Rating = Literal["up", "down"]

LEASE = 60.0
"""Seconds for which a turn is taken to be running when nobody says how it ended, or that it still
runs."""


class Retention(NamedTuple):
    """For how long what is kept, in seconds."""

    session: float = 30 * 86400.0
    """After the visitor's last message."""
    raw: float = 7 * 86400.0
    """Requests and responses as they went over the wire, after they were made."""


class Session(NamedTuple):
    id: SessionId
    title: str
    config_id: str
    created_at: float
    """Unix time in seconds, as everywhere here."""
    updated_at: float
    """When the visitor's last message came."""


class StoredMessage(NamedTuple):
    id: int
    """Ascends within its session; the first is 1. There may be gaps."""
    session_id: SessionId
    role: Role
    content: str
    status: Status
    created_at: float
    reply_to: int | None = None
    """Of an answer: the id of the message it answers."""
    client_message_id: str | None = None
    """Of a visitor's message: the name under which a client may send it again."""
    rating: Rating | None = None


class Asked(NamedTuple):
    """A visitor's message on its way in."""

    content: str
    client_message_id: str | None = None


class Begun(NamedTuple):
    """What became of `begin`.

    - `answer` is there: this very message was answered before; nothing is to be done.
    - `busy_for` > 0: it is being answered now, by another request, for so many seconds at most.
    - else: the turn is the caller's, to be ended by `finish`, and every now and then until then to
      be claimed by `renew`.
    """

    message: StoredMessage
    answer: StoredMessage | None = None
    busy_for: float = 0.0
    again: int = 0
    """How often the turn had been begun before: whose it is."""


class Ended(NamedTuple):
    """How a turn ended: `status` is that of both messages; no answer is saved for an empty text.

    The tokens are those of all its calls, for the sums that operators see.
    """

    status: Literal["ok", "failed", "partial"]
    text: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0


class CallRecord(NamedTuple):
    """One request to a model, as it was sent and as it came back. Times in seconds."""

    session_id: SessionId
    message_id: int
    """The visitor's message it was made for."""
    number: int
    """Of the calls for this message, in their order; the first is 1. There may be gaps."""
    attempt: int
    """How many keys were tried, the last of which answered if any did."""
    created_at: float
    request: bytes | None
    """The body exactly as it was sent; None when it was not captured, or is no longer kept."""
    response: str | None
    """One JSON object `{id, model, choices, usage}`, put together from the chunks."""
    meta: str
    """A JSON object: what stands beside the two, keys as fingerprints, what was trimmed and why."""
    finish_reason: str | None
    stream_complete: bool
    ttft: float | None
    duration: float
    error: str | None
    """A JSON object as in an error answer."""
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
"""The fields of a call that are plain values; the others are its session and its bodies."""


class SessionStore(Protocol):
    """Sessions and their messages. Every method raises StoreUnavailable when it cannot be done."""

    async def secret(self, candidate: str) -> str:
        """The key that signs session tokens: the first candidate that was ever offered."""
        ...

    async def session(self, session_id: SessionId) -> Session | None:
        """None when there is none, or none any more: an expired one is never seen."""
        ...

    async def begin(self, session: Session, asked: Asked, now: float) -> Begun:
        """Save a visitor's message; with a session that is not there yet, the session too.

        Atomic. Several at once for one `client_message_id`: one gets the turn, the others hear
        that it runs. A turn that failed, was cut or was left is begun again with the same message.
        Only `created_at == now` may create, or find that another request just has: a session
        deleted meanwhile does not come back (raises KeyError).
        """
        ...

    async def renew(self, session_id: SessionId, message_id: int, again: int, now: float) -> bool:
        """Say that a turn still runs: its lease is a whole one from now on.

        False when it is the caller's no longer: it has ended, was begun again or deleted, or its
        lease was over for as long as one lasts.
        """
        ...

    async def finish(
        self, session_id: SessionId, message_id: int, ended: Ended, now: float, again: int = 0
    ) -> StoredMessage | None:
        """Save how a turn ended; the answer if there is one. Idempotent: what was said first
        stays. A session that was deleted meanwhile stays so (None), and so does a turn that has
        been begun again by another request.
        """
        ...

    async def messages(
        self, session_id: SessionId, *, before: int | None = None, limit: int = 20, now: float
    ) -> Sequence[StoredMessage]:
        """The newest `limit` with ids under `before`, oldest of them first."""
        ...

    async def rate(
        self, session_id: SessionId, client_message_id: str, rating: Rating | None
    ) -> bool:
        """Note what the visitor thinks of the answer to a message; False when there is none."""
        ...

    async def delete(self, session_id: SessionId) -> None:
        """Everything of it, raw data and all; idempotent."""
        ...


class CallStore(Protocol):
    """What went over the wire, for operators."""

    async def record(self, call: CallRecord, known: Sequence[StoredMessage] | None = None) -> None:
        """Keep one call, unless its session was deleted. The same number again replaces it.

        `known`: messages of the session as they are stored; those found in the bodies are not
        stored again. None: the store looks for the newest ones itself, which costs a read.
        """
        ...

    async def calls(self, session_id: SessionId) -> Sequence[CallRecord]:
        """By message, then by number. Those older than raw data is kept are not seen."""
        ...


class Wanted(NamedTuple):
    """Which sessions an operator looks for; None: any."""

    since: float | None = None
    until: float | None = None
    """By the visitor's last message, `since <= updated_at < until`."""
    status: Status | None = None
    """Of the turn that began or ended last."""
    has_error: bool | None = None
    """Whether any turn ended `failed` or `partial`."""


class Overview(NamedTuple):
    """A session as a row of the panel's list."""

    session: Session
    turns: int
    tokens: int
    errors: int
    """Turns that ended `failed` or `partial`; one begun again may count twice."""
    status: Status


class Page(NamedTuple):
    rows: Sequence[Overview]
    cursor: str | None
    """For the next page; None: there is none."""


class Day(NamedTuple):
    """Sums over the turns that ended on one day (UTC), `date` as in 2026-01-31."""

    date: str
    turns: int
    errors: int
    prompt_tokens: int
    completion_tokens: int


class SessionIndex(Protocol):
    """All sessions, for operators."""

    async def newest(self, wanted: Wanted, cursor: str | None, limit: int, now: float) -> Page:
        """By the visitor's last message, newest first. One that changes between two pages may come
        twice or not at all. A page may be short, even empty; only a cursor of None is the end.
        Raises ValueError for a cursor that no page gave out.
        """
        ...

    async def days(self, since: str, until: str) -> Sequence[Day]:
        """Days on which a turn ended, in order, both ends included."""
        ...


class Sessions(SessionStore, CallStore, SessionIndex, Protocol):
    """What every engine is: all three ports."""
