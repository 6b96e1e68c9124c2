"""The events and the state of one answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from kefu.auth.bot_check import NO_PROOF, Proof
from kefu.chat.completion import Dialogue
from kefu.chat.output_filter import OutputFilter
from kefu.errors import KefuError
from kefu.knowledge.sources import Source
from kefu.relay.chunks import Chunk, Usage

if TYPE_CHECKING:
    from kefu.tools.use import Use


@dataclass(frozen=True, slots=True)
class Done:
    """The answer is complete. After this event, only data is saved."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class SourcesFound:
    """The passages that the answer may cite. The sources come before the first chunk."""

    sources: Sequence[Source]
    links: Sequence[str] = ()
    """The addresses that the answer may link to, besides its sources."""


@dataclass(frozen=True, slots=True)
class SourcesUsed:
    """The numbers of the cited sources, after the last chunk."""

    numbers: Sequence[int]
    answered: bool
    """False when the model said that the passages do not answer the question."""
    follow_ups: Sequence[str] = ()
    """What the visitor may ask next."""


@dataclass(frozen=True, slots=True)
class ToolStep:
    """A call of a tool in its present state."""

    use: Use
    question_id: int
    """The id of the question that is answered; the id of a click is made of it."""
    for_page: bool = False
    """Whether the visitor's page is to carry out the call now."""


AnswerEvent = list[Chunk] | SourcesFound | SourcesUsed | ToolStep | Done
"""An empty list asks the caller to send a ping, because no chunk has arrived for a while."""


class SessionAccess(NamedTuple):
    """A stored chat, and the token that gives access to it."""

    id: str
    token: str


@dataclass(slots=True, eq=False, repr=False, weakref_slot=True)
class Answer:
    """One answer, from its request to its end.

    Only two coroutines write here: the maker of the answer and its sender. The log and requests
    that follow the answer read this object; other tasks may call `stop`.
    """

    request_id: str
    received_at: float
    """Monotonic time at which the request arrived."""
    address: str
    """The IP address, or its network, for rate limits."""
    proof: Proof = NO_PROOF
    """The visitor's proof for the bot check."""
    client: str = ""
    """The name of a key for `/v1`. A client's key has limits of its own, and no bot check."""
    client_message_id: str | None = None
    source_format: bool | Literal["text", "passages"] = False
    """How the pages are named that the answer cites: by events, with the passages that the model
    received or without; or as `text`, by a list at its end.
    """
    wants_steps: bool = False
    """Whether events name the calls of tools."""
    deadline: float | None = None
    """Time of the event loop at which Lambda may freeze the process; None on a normal server."""

    bot_check: str = ""
    """The outcome of the bot check, for the log; empty without a bot check."""
    verification_pass: str | None = None
    """A new pass, which the visitor can send instead of another bot check."""
    session: SessionAccess | None = None
    is_saved: bool = False
    """Whether the visitor's message is saved. Only then may the client learn the session id."""
    goes_on: bool = False
    """Whether the answer goes on when its visitor disconnects, so that others can take it up."""
    dialogues: list[Dialogue] = field(default_factory=list)
    """The requests to the model, one for each step of the answer."""
    uses: list[Use] = field(default_factory=list)
    """The calls of tools."""
    output: OutputFilter | None = None
    """None for an answer whose chunks are sent as they arrive."""
    events: list[tuple[int, SourcesFound | SourcesUsed | ToolStep]] = field(default_factory=list)
    """What was told beside the text, each with the length of the text before it."""
    has_ended: bool = False
    error: KefuError | None = None
    """The reason why the answer is incomplete."""
    reason: Exception | None = None
    """The reason for a stop: ClientGone, or the error to report."""

    free: Callable[[], object] | None = None
    """Called when an answer with followers has paused."""
    _task: asyncio.Task[object] | None = None
    _change: asyncio.Future[None] | None = None

    @property
    def dialogue(self) -> Dialogue | None:
        """The last request to the model."""
        return self.dialogues[-1] if self.dialogues else None

    @property
    def usage(self) -> Usage:
        """The tokens of all requests to the model."""
        total = Usage(0, 0)
        for one in self.dialogues:
            usage = one.usage
            total = Usage(total.prompt + usage.prompt, total.completion + usage.completion)
        return total

    def stop(self, reason: Exception) -> None:
        """Cancel the task that makes the answer. Only the first call has an effect."""
        if self._task and not self.reason:
            self.reason = reason
            self._task.cancel()

    @contextmanager
    def made_here(self) -> Iterator[None]:
        """A context in which a stop raises its reason in place of CancelledError."""
        task = self._task = asyncio.current_task()
        try:
            yield
        except asyncio.CancelledError:
            if not (self.reason and task):
                raise
            task.uncancel()
            raise self.reason from None
        finally:
            self._task = None

    def note(self) -> None:
        """Wake the requests that follow the answer. Without followers, this costs nothing."""
        if self._change:
            self._change.set_result(None)
            self._change = None

    def change(self) -> asyncio.Future[None]:
        """Returns a future that ends with the answer's next change."""
        self._change = self._change or asyncio.get_running_loop().create_future()
        return self._change

    def end(self, error: KefuError | None = None) -> None:
        """Note the end of the answer, once; later stops have no effect."""
        if not self.has_ended:
            self.has_ended, self.error = True, error
            # Without these references, the response is freed at once, not by the garbage collector.
            self._task = self.free = None
            self.note()
