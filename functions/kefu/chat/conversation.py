"""The port of `kefu.chat.answer` to a conversation, and a conversation that stores nothing.

`kefu.sessions.turn.message` implements the port for a message of a stored chat.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kefu.chat.completion import Question
from kefu.chat.output_filter import TextFilter
from kefu.chat.state import Answer, SessionAccess
from kefu.chat.summaries import SummaryCall

if TYPE_CHECKING:
    from kefu.chat.admission import Admission
    from kefu.tools.use import Use
    from kefu.tools.workbench import Workbench


Offer = Callable[[Answer, "Admission"], "Awaitable[Workbench | None]"]
"""Makes the tools of an answer."""


class KnownAnswer(NamedTuple):
    """An answer that needs no request to a model: a saved answer, or the reply of a hook.

    The text is empty for a message to a person.
    """

    text: str
    created_at: float
    """Unix time in seconds."""
    steps: str = ""
    """The calls of tools in a saved answer."""
    question_id: int = 0
    """The id of its question."""
    page_call: Use | None = None
    """A call that the visitor's page is to carry out now."""


class RequestedConversation(Protocol):
    """The conversation of one request. The methods are called once, in this order."""

    @property
    def is_stored(self) -> bool: ...

    @property
    def is_new(self) -> bool:
        """Whether the chat begins with this request; known after `open`."""
        ...

    @property
    def reads_bodies(self) -> bool:
        """Whether the parsed JSON of the chunks is read, and not just their text."""
        ...

    @property
    def waits_for_text(self) -> bool:
        """Whether nothing may be sent yet, because the model has sent no text."""
        ...

    async def open(self) -> SessionAccess | None:
        """Find the stored chat, or create a new one without saving it yet (P3, P4).

        Returns None for a request that stores nothing.
        Raises SessionNotFound, InvalidRequest, UpstreamUnavailable.
        """
        ...

    async def save_question(self) -> KnownAnswer | None:
        """Save the visitor's message before the model is paid for an answer (P5, P6).

        Returns its answer if that is known without the model.
        Raises InvalidRequest, SessionBusy, SessionNotFound, UpstreamUnavailable.
        """
        ...

    def answering(self, answer: Answer) -> AbstractAsyncContextManager[None]:
        """A context around the request to the model; on exit, saves the answer's outcome (P13)."""
        ...

    async def question(self) -> Question:
        """Load the history and build the question (P7 to P9). Raises UpstreamUnavailable."""
        ...

    async def bench(self, answer: Answer, admission: Admission) -> Workbench | None:
        """The tools of the answer, which count in the limits of `admission`; None without tools."""
        ...

    def filters(self, field: str) -> Sequence[TextFilter]:
        """New filters for a text field of the answer; only for a stored chat."""
        ...

    def note_summary(self, call: SummaryCall) -> None:
        """Record a call to the model that was made for this answer, such as for a summary."""
        ...

    async def written(self, deadline: float) -> None:
        """Wait until all data is saved, at most until `deadline`, a time of the event loop."""
        ...


class Stateless:
    """A request that contains its whole conversation; nothing is stored."""

    is_stored = False
    is_new = True
    waits_for_text = False

    def __init__(
        self,
        question: Question,
        *,
        reads_bodies: bool = True,
        offer: Offer | None = None,
    ) -> None:
        """`reads_bodies`: False for an answer that is only passed on, as its text arrives.

        `offer` makes the tools of the answer; None for a request without tools.
        """
        self._question = question
        self._offer = offer
        self.reads_bodies = reads_bodies

    async def open(self) -> SessionAccess | None:
        return None

    async def save_question(self) -> KnownAnswer | None:
        return None

    def answering(self, answer: Answer) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def question(self) -> Question:
        return self._question

    async def bench(self, answer: Answer, admission: Admission) -> Workbench | None:
        return await self._offer(answer, admission) if self._offer else None

    def filters(self, field: str) -> Sequence[TextFilter]:
        return ()

    def note_summary(self, call: SummaryCall) -> None:
        """Does nothing: only stored chats have a call log."""

    async def written(self, deadline: float) -> None:
        """Does nothing: there is no data to save."""
