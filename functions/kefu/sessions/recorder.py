"""Follows the answer of one turn, and saves its outcome once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from kefu.chat.completion import Dialogue
from kefu.chat.output_filter import Filter, OutputFilter
from kefu.chat.summaries import SummaryCall
from kefu.errors import (
    AnswerCancelled,
    ClientGone,
    KefuError,
    StoreUnavailable,
    UpstreamUnavailable,
)
from kefu.knowledge.sources import joined, listed
from kefu.relay.chunks import Chunk, Usage
from kefu.relay.collected import Collected
from kefu.relay.completion_stream import Clock
from kefu.sessions.background import BackgroundWriter
from kefu.sessions.call_log import Recording, TurnRecord
from kefu.sessions.message_processor import MessageProcessor
from kefu.sessions.model import LEASE, BeginResult, CallRecord, StoredMessage, TurnOutcome
from kefu.sessions.ports import Sessions

HEADERS_WAIT = 1.0
"""Seconds after the request. In this time nothing is sent until the model has sent text, so that an
error can still become an HTTP status.
"""

RENEW_AFTER = LEASE / 2
"""Seconds. A short answer needs no renewal, and there is time to retry a failed one."""
RENEW_AGAIN = LEASE / 12
"""Seconds before the retry of a failed renewal."""

LEFT = (ClientGone, AnswerCancelled, asyncio.CancelledError)
"""The exceptions for a visitor who has disconnected or has cancelled the answer."""


class PersistenceDeps(NamedTuple):
    """The parts that are needed to save a turn."""

    store: Sessions
    writer: BackgroundWriter
    clock: Clock
    recording: Recording
    processor: MessageProcessor


class TurnRecorder:
    def __init__(
        self,
        persistence: PersistenceDeps,
        begin_result: BeginResult,
        asked_at: float,
        received_at: float,
        filters: Callable[[str], Sequence[Filter]],
        after: Callable[[TurnOutcome, bool | None], asyncio.Task[None] | None],
    ) -> None:
        """The time of the visitor's request: `asked_at` is Unix time, `received_at` monotonic time.
        `after` starts the hooks that follow the outcome.
        """
        self.meta: dict[str, object] = {}
        """Fields for the `meta` of each call."""
        self.known: Sequence[StoredMessage] = (begin_result.message,)
        """Stored messages; their texts are not stored again with the bodies of a call."""
        self._persistence = persistence
        self.message = begin_result.message
        self._retries = begin_result.again
        self._replaces = begin_result.replaces
        self._asked_at = asked_at
        self._received_at = received_at
        self._held: list[Chunk] = []
        self._output = OutputFilter(filters)
        self._begin_after = after
        self._after: list[asyncio.Task[None]] = []
        self._saving: list[asyncio.Task[None]] = []
        self._auxiliary_calls: list[asyncio.Task[None]] = []
        self._trim_states: list[asyncio.Task[None]] = []

    def text(self) -> str:
        """The filtered text of the answer so far."""
        return self._output.text

    async def hold(self, lost: Callable[[], None]) -> None:
        """Renew the lease of the turn until its outcome is being saved.

        `lost` is called when another request owns the turn or the chat was deleted. A failing store
        does not end the turn; the renewal is retried.
        """
        persistence, ids = self._persistence, (self.message.session_id, self.message.id)
        pause = RENEW_AFTER
        while not self._saving:
            await asyncio.sleep(pause)
            try:
                owned = await persistence.store.renew(*ids, self._retries, persistence.clock.now())
            except StoreUnavailable:
                pause = RENEW_AGAIN
                continue
            if not owned and not self._saving:
                lost()
                return
            pause = RENEW_AFTER

    async def show(self, chunks: list[Chunk]) -> list[Chunk] | None:
        """The chunks to send after filtering; an empty list for a ping.

        None in the first `HEADERS_WAIT` seconds while the model has sent no text.
        """
        for chunk in chunks:
            self._held += await self._output.feed(chunk)
        silent = chunks and not self._output.has_text
        if silent and self._persistence.clock.monotonic() < self._received_at + HEADERS_WAIT:
            return None
        shown, self._held = self._held, []
        return shown

    async def show_rest(self) -> list[Chunk]:
        """At the end of an answer: the chunks to send for text that filters still hold back."""
        return await self._output.close()

    def check_whole(self) -> None:
        """Raises UpstreamUnavailable when the filtered answer has no text."""
        if not self._output.text.strip():
            raise UpstreamUnavailable("The AI service gave no answer.", retry_after=1)

    async def end(self, dialogue: Dialogue | None, error: BaseException | None) -> None:
        """Save the outcome of the turn, and wait for a short time; later calls only wait.

        `error` is the reason for an incomplete answer: a KefuError, one of `LEFT`, or a bug.
        """
        if not self._saving:
            try:
                await self._output.close()
            finally:
                text = self._listed(dialogue, error)
                self._save(self._ended(dialogue, text, error), dialogue, error)
        await self._persistence.writer.wait(self._writes)

    async def written(self, seconds: float) -> None:
        """Wait up to `seconds` for writes and hooks: Lambda freezes the process afterwards."""
        await self._persistence.writer.wait([*self._writes, *self._after], seconds)

    @property
    def _writes(self) -> list[asyncio.Task[None]]:
        return [*self._saving, *self._auxiliary_calls, *self._trim_states]

    async def end_with(self, reply: str) -> None:
        """Save the reply of a hook as the answer, or an empty one if a person has the chat.

        There was no request to the model.
        """
        self._save(TurnOutcome("ok", self._cleaned(reply)), None, None)
        await self._persistence.writer.wait(self._saving)

    def _listed(self, dialogue: Dialogue | None, error: BaseException | None) -> str:
        """The answer with the list of its sources, also if its client gets them as events."""
        sources = dialogue.sources if dialogue and error is None else None
        cited = sources.cited if sources else ()
        return joined(self._cleaned(self._output.text.removesuffix(listed(cited))), cited)

    def _cleaned(self, text: str) -> str:
        persistence = self._persistence
        text = persistence.recording.redact(_whole_characters(text))
        return persistence.processor.postprocess_llm_response(text)

    def _ended(
        self, dialogue: Dialogue | None, text: str, error: BaseException | None
    ) -> TurnOutcome:
        usage = dialogue.usage if dialogue else Usage(0, 0)
        ended = TurnOutcome("ok", text, usage.prompt, usage.completion)
        if dialogue and dialogue.call.first_event_at is not None:
            ended = ended._replace(first_word=dialogue.call.first_event_at - self._received_at)
        if error is None and text:
            facts = dialogue.sources.facts() if dialogue and dialogue.sources else {}
            return ended._replace(unanswered=facts.get("answered") is False)
        # An error without any text is a failure. A visitor who disconnects early is not, but a
        # former answer stays complete.
        failed = not text and (self._replaces or not isinstance(error, LEFT))
        return ended._replace(status="failed" if failed else "partial")

    def _save(
        self, ended: TurnOutcome, dialogue: Dialogue | None, error: BaseException | None
    ) -> None:
        """Start to save the outcome and the calls in background tasks with retries."""
        persistence, message = self._persistence, self.message
        store, begin, now = persistence.store, persistence.writer.begin, persistence.clock.now()
        description = f"message {message.id} of session {message.session_id}"
        ids = message.session_id, message.id
        finish = partial(store.finish, *ids, ended, now, self._retries)
        replace = partial(self._replace, finish)
        is_replaced = self._replaces and ended.text
        self._saving.append(begin(f"the end of {description}", replace if is_replaced else finish))
        answered = dialogue.sources.answered if dialogue and dialogue.sources else None
        if after := self._begin_after(ended, answered):
            self._after.append(after)
        known = (*self.known, *_answers(message, ended, now))
        for call in self._calls(dialogue, error) if dialogue else ():
            record = partial(store.record, call, known)
            self._saving.append(begin(f"call {call.number} of {description}", record))

    async def _replace(self, finish: Callable[[], Awaitable[object]]) -> object:
        """Save a new answer. Former calls refer to the text of the former one, so they get it."""
        store, message = self._persistence.store, self.message
        try:
            for call in await store.calls(message.session_id):
                if call.message_id >= message.id:
                    await store.record(call, self.known)
        except StoreUnavailable:
            pass  # the panel shows these calls without their bodies
        return await finish()

    def _calls(self, dialogue: Dialogue, error: BaseException | None) -> list[CallRecord]:
        turn = self._turn_record(self._output.unfiltered, self._output.chunks, error)
        return list(self._persistence.recording.calls(dialogue, turn))

    def auxiliary_call(self, made: SummaryCall) -> None:
        """Save a finished call of this turn that is no answer, even after the turn has ended."""
        persistence = self._persistence
        seconds = persistence.clock.monotonic() - made.call.started
        turn = self._turn_record(made.collected, made.collected.chunks, made.error)
        asked_at = persistence.clock.now() - seconds
        turn = turn._replace(asked_at=asked_at, purpose=made.purpose)
        record = persistence.recording.auxiliary_call(len(self._auxiliary_calls), made.call, turn)
        message = self.message
        description = (
            f"a {made.purpose} call for message {message.id} of session {message.session_id}"
        )
        write = partial(persistence.store.record, record, self.known)
        self._auxiliary_calls.append(persistence.writer.begin(description, write))

    def save_trim_state(self, state: str) -> None:
        """Save the chat's state of trimming, even after the turn has ended."""
        persistence, session = self._persistence, self.message.session_id
        write = partial(persistence.store.save_trim_state, session, state)
        description = f"the state of trimming of session {session}"
        self._trim_states.append(persistence.writer.begin(description, write))

    def _turn_record(
        self, answer: Collected, chunks: int, error: BaseException | None
    ) -> TurnRecord:
        return TurnRecord(
            message=self.message,
            retries=self._retries,
            answer=answer,
            chunks=chunks,
            error=_error_body(error) if error is not None else None,
            asked_at=self._asked_at,
            ended=self._persistence.clock.monotonic(),
            meta=self.meta,
        )


def _whole_characters(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced by U+FFFD.

    Some upstreams split a surrogate pair over two chunks. Stores cannot save lone surrogates.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _error_body(error: BaseException) -> Mapping[str, object]:
    if isinstance(error, KefuError):
        return error.body()["error"]
    if isinstance(error, LEFT):
        gone = KefuError("The client has gone.").body()["error"]
        return {**gone, "type": "client", "code": "client_gone"}
    # The text of another exception may contain private data; only the log has it.
    return KefuError("Something went wrong on our side.").body()["error"]


def _answers(message: StoredMessage, ended: TurnOutcome, now: float) -> Iterator[StoredMessage]:
    """The answer as it will be stored, if any, so that the call's response can refer to it."""
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
