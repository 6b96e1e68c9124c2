"""How a turn goes: what was said of the answer, and the one time that it is written down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial

from kefu.answer import Clock
from kefu.chat import Dialogue
from kefu.completion import Chunk, Collected, Usage
from kefu.errors import ClientGone, KefuError, StoreUnavailable, UpstreamUnavailable
from kefu.hooks.hook import Filter
from kefu.keeping import Keeper
from kefu.lean_typing import NamedTuple
from kefu.message_processor import MessageProcessor
from kefu.recording import Happened, Recording, error_object
from kefu.sessions import LEASE, Begun, CallRecord, Ended, Sessions, StoredMessage
from kefu.summaries import SummaryCall
from kefu.visible import Visible

HEADERS_WAIT = 1.0
"""Seconds from the request on in which an answer that says nothing may still become a status."""

RENEW_AFTER = LEASE / 2
"""Seconds: so there is time for a second try, and a turn of usual length needs none."""
RENEW_AGAIN = LEASE / 12
"""Seconds after which a store that could not is asked again."""

LEFT = (ClientGone, asyncio.CancelledError)
"""What ends an answer for want of a listener."""


class Writing(NamedTuple):
    """What it takes to write a turn down."""

    store: Sessions
    keeper: Keeper
    clock: Clock
    recording: Recording
    processor: MessageProcessor


class Outcome:
    def __init__(
        self,
        writing: Writing,
        begun: Begun,
        came: float,
        filters: Callable[[], Sequence[Filter]],
    ) -> None:
        """`came`: Unix time at which the request came."""
        self.beside: dict[str, object] = {}
        """What goes into the `meta` of every call."""
        self.known: Sequence[StoredMessage] = (begun.message,)
        """Messages that need not be stored again with a call's bodies."""
        self._writing = writing
        self.message = begun.message
        self._again = begun.again
        self._came = came
        self._visible = Visible(filters)
        self._saving: list[asyncio.Task[None]] = []
        self._asides: list[asyncio.Task[None]] = []

    async def hold(self, lost: Callable[[], None]) -> None:
        """Keep the turn this request's own until it is written down; to be cancelled after that.

        `lost` is called when it is not any more: somebody else answers it now, or the chat is gone.
        A store that is away takes no turn from anybody.
        """
        writing, place = self._writing, (self.message.session_id, self.message.id)
        pause = RENEW_AFTER
        while not self._saving:
            await asyncio.sleep(pause)
            try:
                mine = await writing.store.renew(*place, self._again, writing.clock.now())
            except StoreUnavailable:
                pause = RENEW_AGAIN
                continue
            if not mine and not self._saving:
                lost()
                return
            pause = RENEW_AFTER

    async def watch(
        self, dialogue: Dialogue, batches: AsyncIterator[list[Chunk]]
    ) -> AsyncIterator[list[Chunk]]:
        """The chunks that may go out. When the iteration ends, the turn has been written down,
        unless the store takes its time.

        Raises UpstreamUnavailable when the model says nothing at all.
        """
        held: list[Chunk] = []
        until = dialogue.call.started + HEADERS_WAIT
        try:
            async for batch in batches:
                held += [chunk for came in batch for chunk in self._visible.feed(came)]
                silent = batch and not self._visible.anything
                if silent and self._writing.clock.monotonic() < until:
                    continue
                yield held
                held = []
            if not self._visible.text.strip():
                raise UpstreamUnavailable("The AI service gave no answer.")
        except KefuError:
            if rest := self._visible.close():
                yield rest
            raise
        if rest := self._visible.close():
            yield rest
        await self.end(dialogue, None)

    async def end(self, dialogue: Dialogue | None, error: BaseException | None) -> None:
        """Write down how the turn went, and wait a moment for that; the first word counts.

        `error`: why there is no whole answer: a KefuError, ClientGone, or a fault of ours.
        """
        if not self._saving:
            self._visible.close()
            text = self._kept(self._visible.text)
            self._save(self._ended(dialogue, text, error), dialogue, error)
        await self._writing.keeper.wait([*self._saving, *self._asides])

    async def written(self, seconds: float) -> None:
        """Wait longer: nothing goes on by itself in a function whose answer has ended."""
        await self._writing.keeper.wait([*self._saving, *self._asides], seconds)

    async def end_with(self, reply: str) -> None:
        """The answer came from a hook: no model was asked."""
        self._save(Ended("ok", self._kept(reply)), None, None)
        await self._writing.keeper.wait(self._saving)

    def _kept(self, text: str) -> str:
        writing = self._writing
        text = writing.recording.redact(_whole_characters(text))
        return writing.processor.postprocess_llm_response(text)

    def _ended(self, dialogue: Dialogue | None, text: str, error: BaseException | None) -> Ended:
        usage = self._usage(dialogue) if dialogue else Usage(0, 0)
        if error is None and text:
            return Ended("ok", text, usage.prompt, usage.completion)
        # An error without any text leaves nothing to keep; one who stops does not make it one.
        failed = not text and not isinstance(error, LEFT)
        return Ended("failed" if failed else "partial", text, usage.prompt, usage.completion)

    def _usage(self, dialogue: Dialogue) -> Usage:
        """As the upstream counted, else as estimated; nothing for what never came."""
        call = dialogue.call
        if call.completion.usage:
            return call.completion.usage
        if call.first_event_at is None:
            return Usage(0, 0)
        return Usage(dialogue.tokens_at_most - dialogue.question.max_tokens, self._visible.chunks)

    def _save(self, ended: Ended, dialogue: Dialogue | None, error: BaseException | None) -> None:
        """Begin to. Nobody's leaving ends it, and what a store cannot do now it does later."""
        writing, message = self._writing, self.message
        store, begin, now = writing.store, writing.keeper.begin, writing.clock.now()
        what = f"message {message.id} of session {message.session_id}"
        place = message.session_id, message.id
        finish = partial(store.finish, *place, ended, now, self._again)
        self._saving.append(begin(f"the end of {what}", finish))
        known = (*self.known, *_answers(message, ended, now))
        for call in self._calls(dialogue, error) if dialogue else ():
            record = partial(store.record, call, known)
            self._saving.append(begin(f"call {call.number} of {what}", record))

    def _calls(self, dialogue: Dialogue, error: BaseException | None) -> list[CallRecord]:
        happened = self._happened(self._visible.came, self._visible.chunks, error)
        return list(self._writing.recording.calls(dialogue, happened))

    def aside(self, made: SummaryCall) -> None:
        """Write down a call that was made for this answer's sake, whenever it ended."""
        writing = self._writing
        lasted = writing.clock.monotonic() - made.call.started
        happened = self._happened(made.said, made.chunks, made.error)
        happened = happened._replace(came=writing.clock.now() - lasted)
        record = writing.recording.aside(len(self._asides), made.call, happened)
        what = f"a summary for message {self.message.id} of session {self.message.session_id}"
        record_it = partial(writing.store.record, record, self.known)
        self._asides.append(writing.keeper.begin(what, record_it))

    def _happened(self, answer: Collected, chunks: int, error: BaseException | None) -> Happened:
        return Happened(
            message=self.message,
            again=self._again,
            answer=answer,
            chunks=chunks,
            error=_said(error) if error is not None else None,
            came=self._came,
            ended=self._writing.clock.monotonic(),
            beside=self.beside,
        )


def _whole_characters(text: str) -> str:
    """Some upstreams cut between the halves of a character, as JavaScript counts them: they are put
    together. One that stays alone is no text that a store could keep.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _said(error: BaseException) -> Mapping[str, object]:
    if isinstance(error, KefuError):
        return error_object(error)
    if isinstance(error, LEFT):
        return error_object(KefuError("The client has gone.")) | {
            "type": "client",
            "code": "client_gone",
        }
    # Its text may say anything; the log has it.
    return error_object(KefuError("Something went wrong on our side."))


def _answers(message: StoredMessage, ended: Ended, now: float) -> Iterator[StoredMessage]:
    """The answer as it is stored, if there is one: a call's response need not repeat it."""
    if ended.text:
        yield StoredMessage(
            id=message.id + 1,
            session_id=message.session_id,
            role="assistant",
            content=ended.text,
            status=ended.status,
            created_at=now,
            reply_to=message.id,
        )
