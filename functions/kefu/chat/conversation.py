"""The ports of `kefu.chat.answer` to the conversation that a request belongs to.

`kefu.chat.stateless` implements them for a request that stores nothing, `kefu.sessions.turn` for a
message of a stored chat.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from kefu.chat.completion import Dialogue, Question
from kefu.chat.stop import Stop
from kefu.chat.summaries import SummaryCall
from kefu.relay.chunks import Chunk


class SessionAccess(NamedTuple):
    """A stored chat, and the token that gives access to it."""

    id: str
    token: str


class Turn(Protocol):
    """A saved question whose answer is being made."""

    @property
    def reads_bodies(self) -> bool:
        """Whether the parsed JSON of the chunks is read, and not just their text."""
        ...

    def answering(self, report: Report, stop: Stop) -> AbstractAsyncContextManager[None]:
        """A context around the request to the model; on exit, saves the answer's outcome (P13)."""
        ...

    async def question(self) -> Question:
        """Load the history and build the question (P7 to P9). Raises UpstreamUnavailable."""
        ...

    async def show(self, chunks: list[Chunk]) -> list[Chunk] | None:
        """The chunks to send after filtering; None when not even a ping may be sent yet."""
        ...

    async def show_rest(self) -> list[Chunk]:
        """At the end of an answer: the chunks to send for text that filters still hold back."""
        ...

    def check_whole(self) -> None:
        """At the end of an answer: raise UpstreamUnavailable if its text must not be empty."""
        ...

    def note_summary(self, call: SummaryCall) -> None:
        """Record a call to the model that was made for this answer, such as for a summary."""
        ...

    async def written(self, deadline: float) -> None:
        """Wait until all data is saved, at most until `deadline`, a time of the event loop."""
        ...


class KnownAnswer(NamedTuple):
    """An answer that needs no request to a model: a saved answer, or the reply of a hook.

    Its text is empty for a message to a person.
    """

    text: str
    created_at: float
    """Unix time in seconds."""


class OpenConversation(Protocol):
    """A conversation whose session is known and was checked."""

    @property
    def session(self) -> SessionAccess | None:
        """None for a stateless request."""
        ...

    @property
    def is_new(self) -> bool: ...

    async def save_question(self) -> Turn | KnownAnswer:
        """Save the visitor's message before the model is paid for an answer (P5, P6).

        Raises InvalidRequest, SessionBusy, SessionNotFound, UpstreamUnavailable.
        """
        ...


class RequestedConversation(Protocol):
    """The conversation that a request belongs to."""

    async def open(self) -> OpenConversation:
        """Find the stored chat, or create a new one without saving it yet (P3, P4).

        Raises SessionNotFound, InvalidRequest, UpstreamUnavailable.
        """
        ...


@dataclass(slots=True, eq=False)
class Report:
    """Data for response headers and the log. Each step fills in its part, so that a request that
    fails half way can be reported, too.
    """

    bot_check: str = ""
    """The outcome of the bot check, for the log; empty without a bot check."""
    verification_pass: str | None = None
    """A new pass, which the visitor can send instead of another bot check."""
    session: SessionAccess | None = None
    is_saved: bool = False
    """Whether the visitor's message is saved. Only then may the client learn the session id."""
    dialogue: Dialogue | None = None
    text: Callable[[], str] | None = None
    """Returns the text so far. Only for the answer of a stored chat, which goes on when its visitor
    disconnects, so that other requests can take it up.
    """
