"""Follows the answer of one turn, and saves its outcome once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from kefu.chat.completion import Dialogue
from kefu.chat.output_filter import OutputFilter
from kefu.chat.state import Answer
from kefu.chat.summaries import SummaryCall
from kefu.errors import (
    AnswerCancelled,
    ClientGone,
    KefuError,
    StoreUnavailable,
    TakenOver,
)
from kefu.knowledge.sources import joined, listed
from kefu.relay.collected import Collected
from kefu.sessions.hooks.hook import EndedTurn, HookContext
from kefu.sessions.store.model import LEASE, BeginResult, TurnOutcome
from kefu.sessions.turn.call_log import TurnRecord
from kefu.sessions.turn.saving import before_model
from kefu.sessions.turn.service import SessionDeps

if TYPE_CHECKING:
    from kefu.messages import Image
    from kefu.sessions.turn.images import Finish
    from kefu.tools.use import Use

RENEW_AFTER = LEASE / 2
"""Seconds. A short answer needs no renewal, and there is time to retry a failed renewal."""
RENEW_AGAIN = LEASE / 12
"""Seconds before the retry of a failed renewal."""

VISITOR_GONE = (ClientGone, AnswerCancelled, asyncio.CancelledError)
"""The exceptions for a visitor who has disconnected or has cancelled the answer."""


class TurnRecorder:
    def __init__(
        self,
        deps: SessionDeps,
        begin_result: BeginResult,
        visit: HookContext,
        received_at: float,
    ) -> None:
        """`received_at` is the monotonic time of the visitor's request, `visit.now` its Unix time.

        `visit` is the context of the hooks that follow the outcome.
        """
        self.meta: dict[str, object] = {}
        """Fields for the `meta` of each call."""
        self._deps = deps
        self.message = begin_result.message
        self._retries = begin_result.retries
        self._replaces = begin_result.replaces
        self._visit = visit
        self._received_at = received_at
        self._after: list[asyncio.Task[None]] = []
        self._writes: list[asyncio.Task[None]] = []
        self._auxiliary_calls = 0
        self._question = ""
        self._images: Sequence[Image] | None = None

    def edit(self, text: str, images: Sequence[Image] | None) -> None:
        """Answer `text` in place of the stored message, and save it with the new answer.

        `images`: those of the message from now on; None: it keeps its images.
        """
        self.message = self.message._replace(content=text)
        self._question = text
        self._images = images

    @contextmanager
    def holding(self, lost: Callable[[], None]) -> Iterator[None]:
        """A context that renews the lease of the turn while its answer is made.

        `lost` is called when another request owns the turn or the chat was deleted.
        """
        renewing: list[asyncio.Task[None]] = []

        def begin() -> None:
            renewing.append(asyncio.create_task(self._renew(lost)))

        # Most answers end before their first renewal, so they need no task for a renewal.
        timer = asyncio.get_running_loop().call_later(RENEW_AFTER, begin)
        try:
            yield
        finally:
            timer.cancel()
            for task in renewing:
                task.cancel()

    async def _renew(self, lost: Callable[[], None]) -> None:
        """Renew the lease until it is lost. A failing store does not end the turn: try again."""
        deps, ids = self._deps, (self.message.session_id, self.message.id)
        while True:
            try:
                owned = await deps.store.renew(*ids, self._retries, deps.clock.now())
            except StoreUnavailable:
                await asyncio.sleep(RENEW_AGAIN)
                continue
            if not owned:
                lost()
                return
            await asyncio.sleep(RENEW_AFTER)

    async def save_calls(self, uses: Sequence[Use]) -> bool:
        """Save the calls of the turn so far; False if the turn is not this request's any more.

        Raises UpstreamUnavailable if the store fails.
        """
        deps, ids = self._deps, (self.message.session_id, self.message.id)
        steps, now = self.steps(uses), deps.clock.now()
        return await before_model(deps.store.renew(*ids, self._retries, now, steps))

    async def end(self, answer: Answer, error: BaseException | None) -> None:
        """Save the outcome of the turn, and wait for a short time.

        `error` is the reason for an incomplete answer: a KefuError, a bug, or a `VISITOR_GONE`.
        """
        output = answer.output or OutputFilter()
        try:
            await output.close()
        finally:
            text = self._listed(output.text, answer.dialogue, error)
            ended = self._ended(answer, text, error)
            if answer.uses:
                ended = self._with_calls(ended, answer.uses)
            self._save(ended, answer.dialogues, output, error)
        await self._deps.writer.wait(self._writes)

    async def written(self, seconds: float) -> None:
        """Wait up to `seconds` for writes and hooks: Lambda freezes the process afterwards."""
        await self._deps.writer.wait([*self._writes, *self._after], seconds)

    async def end_with(self, reply: str, steps: str = "") -> None:
        """Save the reply of a hook as the answer, or an empty one if a person has the chat.

        There was no request to the model.
        """
        ended = TurnOutcome("ok", self._cleaned(reply), steps=steps)
        self._save(ended, (), OutputFilter(), None)
        await self._deps.writer.wait(self._writes)

    def _listed(self, text: str, dialogue: Dialogue | None, error: BaseException | None) -> str:
        """The answer with the list of its sources, also if its client gets them as events."""
        sources = dialogue.sources if dialogue and error is None else None
        if not (cited := sources.cited if sources else ()):
            return self._cleaned(text)
        return joined(self._cleaned(text.removesuffix(listed(cited))), cited)

    def _cleaned(self, text: str) -> str:
        text = self._deps.recording.redact(_whole_characters(text))
        return self._deps.processor.postprocess_llm_response(text)

    def steps(self, uses: Sequence[Use]) -> str:
        """The calls of tools as they are stored."""
        from kefu.tools.use import stored  # here, because few answers have calls

        return self._deps.recording.redact(stored(uses))

    def _with_calls(self, ended: TurnOutcome, uses: Sequence[Use]) -> TurnOutcome:
        """The outcome with its calls. What was changed is told, so that later prompts know it."""
        from kefu.tools.card import outcome_sentence
        from kefu.tools.use import settled, write_in

        uses = settled(uses)
        ended = ended._replace(steps=self.steps(uses))
        if write := write_in(uses):
            sentence = ended.text or outcome_sentence(write.card, write.state)
            ended = ended._replace(status="ok", text=sentence)
        return ended

    def _ended(self, answer: Answer, text: str, error: BaseException | None) -> TurnOutcome:
        usage, dialogue = answer.usage, answer.dialogue
        ended = TurnOutcome("ok", text, usage.prompt, usage.completion)
        words = [one for one in answer.dialogues if not one.collected or one.collected.content]
        if words and (first := words[0].call.first_event_at) is not None:
            ended = ended._replace(first_word=first - self._received_at)
        if error is None and text:
            sources = dialogue.sources if dialogue else None
            if sources is None:
                return ended
            return ended._replace(unanswered=not sources.answered, proved=bool(sources.cited))
        if isinstance(error, TakenOver):  # the question is a part of the talk with the person
            return ended
        # A turn without any text failed, unless the visitor left. Without a new text, a replacement
        # failed in any case, so that the earlier answer stays complete.
        failed = not text and (self._replaces or not isinstance(error, VISITOR_GONE))
        return ended._replace(status="failed" if failed else "partial")

    def _save(
        self,
        ended: TurnOutcome,
        dialogues: Sequence[Dialogue],
        output: OutputFilter,
        error: BaseException | None,
    ) -> None:
        """Start to save the outcome and the calls in background tasks with retries."""
        deps, message = self._deps, self.message
        store, begin, now = deps.store, deps.writer.begin, deps.clock.now()
        description = f"message {message.id} of session {message.session_id}"
        ids = message.session_id, message.id
        ended = ended._replace(question=self._question)
        if self._images is not None:
            from kefu.images import stored  # here, because few messages have images

            ended = ended._replace(images=stored(self._images))
        finish: Finish = partial(store.finish, *ids, ended, now, self._retries)
        if self._images is not None and ended.text:
            from kefu.sessions.turn.images import replace

            finish = partial(replace, store, message, self._images, finish)
        self._writes.append(begin(f"the end of {description}", finish))
        sources = dialogues[-1].sources if dialogues else None
        answered = sources.answered if sources else None
        visit = self._visit
        texts = message.content, ended.text, ended.status
        told = EndedTurn(
            visit.session, message.id, *texts, now, visit.profile, visit.user, answered
        )
        if after := deps.hooks.begin("after", told):
            self._after.append(after)
        turn = self._turn_record(output.unfiltered, error)
        for call in deps.recording.calls(dialogues, turn):
            record = partial(store.record, call)
            self._writes.append(begin(f"call {call.number} of {description}", record))

    def auxiliary_call(self, made: SummaryCall) -> None:
        """Save a finished call of this turn that is no answer, even after the turn has ended."""
        deps = self._deps
        seconds = deps.clock.monotonic() - made.call.started
        turn = self._turn_record(made.collected, made.error)
        asked_at = deps.clock.now() - seconds
        turn = turn._replace(asked_at=asked_at, purpose=made.purpose)
        record = deps.recording.auxiliary_call(self._auxiliary_calls, made.call, turn)
        self._auxiliary_calls += 1
        message = self.message
        description = (
            f"a {made.purpose} call for message {message.id} of session {message.session_id}"
        )
        write = partial(deps.store.record, record)
        self._writes.append(deps.writer.begin(description, write))

    def save_trim_state(self, state: str) -> None:
        """Save the chat's state of trimming, even after the turn has ended."""
        deps, session = self._deps, self.message.session_id
        write = partial(deps.store.save_trim_state, session, state)
        description = f"the state of trimming of session {session}"
        self._writes.append(deps.writer.begin(description, write))

    def _turn_record(self, answer: Collected, error: BaseException | None) -> TurnRecord:
        return TurnRecord(
            message=self.message,
            retries=self._retries,
            answer=answer,
            error=_error_body(error) if error is not None else None,
            asked_at=self._visit.now,
            ended=self._deps.clock.monotonic(),
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
    if isinstance(error, VISITOR_GONE):
        gone = KefuError("The client has gone.").body()["error"]
        return {**gone, "type": "client", "code": "client_gone"}
    # The text of another exception may contain private data; only the log has it.
    return KefuError("Something went wrong on our side.").body()["error"]
