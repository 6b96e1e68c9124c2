"""The think/act loop: one turn, from what the user says to the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kefu.context import Message
from kefu.errors import ContextTooLong, KefuError
from kefu.events import (
    Body,
    Error,
    Estimate,
    Final,
    Interrupt,
    Observation,
    Tokens,
    TurnEnd,
    TurnStart,
    TurnStatus,
)
from kefu.react.budget import PromptLimits
from kefu.react.display import answer_so_far
from kefu.react.grammar import Action, Malformed, parse
from kefu.react.grammar import Final as FinalWords
from kefu.react.history import ChatHistory
from kefu.react.journal import Journal
from kefu.react.meter import Meter
from kefu.react.model import Model, Saying
from kefu.react.observation import REPAIRS, written_back
from kefu.react.options import AgentDeps, AgentOptions, Step, TurnError, TurnResult
from kefu.react.tooling import TurnFailed, Workbench

REPAIRS_IN_A_ROW = 2


@dataclass(frozen=True, slots=True)
class Parts:
    """What a session lends to its turns."""

    deps: AgentDeps
    options: AgentOptions
    journal: Journal
    history: ChatHistory
    meter: Meter
    model: Model


class Turn:
    def __init__(self, index: int, parts: Parts) -> None:
        self.index = index
        self._parts = parts
        self._step: int | None = None
        self._steps: list[Step] = []
        self._saying: Saying | None = None
        """The call that is under way."""
        self._prompt = 0
        self._repairs = 0
        self._workbench = Workbench(parts.deps, parts.options, self._write)
        self._limits = PromptLimits(
            parts.options.limits, parts.history, parts.model, parts.meter, self._write
        )
        self._said = ""
        self._started = parts.deps.clock.monotonic()
        self._started_at = parts.deps.clock.now()

    def _write(self, body: Body) -> None:
        self._parts.journal.write(body, self.index, self._step)

    def begin(self, said: str) -> None:
        self._said = said
        self._parts.meter.begin()
        self._parts.history.ask(self.index, said)
        self._write(TurnStart(said, tokens=Estimate(self._parts.deps.counter.count(said))))

    async def run(self) -> TurnResult:
        """Comes back with the answer, or why there is none."""
        try:
            for step in range(self._parts.options.max_steps):
                self._step = step
                answer = await self._one_step(step)
                if answer is not None:
                    return self._end("ok", answer)
        except TurnFailed as failed:
            return self._end("error", "", failed.error)
        except KefuError as error:
            return self._failed(error)
        limit = f"No answer after {self._parts.options.max_steps} steps."
        return self._end("max_steps", "", TurnError("max_steps", limit))

    async def _one_step(self, step: int) -> str | None:
        """The answer, if this was the last step."""
        messages, self._prompt = await self._limits.prompt()
        try:
            saying = await self._ask(messages)
        except ContextTooLong as error:
            shorter = self._limits.halved(self._prompt)
            if shorter is None:
                raise
            self._log_failure(error, self._saying)
            messages, self._prompt = shorter
            saying = await self._ask(messages)
        tokens = self._heard(saying)
        text, self._saying = saying.reply.text, None
        self._steps.append(Step(step, text, tokens=tokens))
        match parse(text):
            case FinalWords(answer, implicit):
                return self._answer(answer, implicit=implicit)
            case Action() as action:
                await self._act(action)
            case Malformed() as malformed:
                self._repair(malformed)
        return None

    async def _ask(self, messages: Sequence[Message]) -> Saying:
        saying = Saying(self._parts.model.prepare(messages), self._parts.deps.on_piece, self._write)
        self._saying = saying
        await self._parts.model.ask(saying.reply, saying.hear)
        return saying

    def _heard(self, saying: Saying) -> Tokens:
        """Log a call, whole or not."""
        saying.close()
        tokens, estimate = self._parts.meter.note(saying.reply, self._prompt)
        self._write(saying.reply.event(tokens, estimate))
        return tokens

    def _came_of_it(self, **found: Any) -> None:
        """What is known of the last step besides the model's words."""
        self._steps[-1] = replace(self._steps[-1], **found)

    def _answer(self, answer: str, *, implicit: bool) -> str:
        self._came_of_it(parsed_final=answer)
        self._parts.history.answer(self.index, answer)
        tokens = self._parts.meter.turn
        self._write(Final(answer, tokens=tokens, implicit=True if implicit else None))
        return answer

    async def _act(self, action: Action) -> None:
        self._repairs = 0
        self._came_of_it(parsed_action=(action.tool, action.input), tool=action.tool)
        content = await self._workbench.run(action)
        self._came_of_it(observation=content)
        self._parts.history.step(self.index, action.said, written_back(content, action.tool))

    def _repair(self, malformed: Malformed) -> None:
        self._repairs += 1
        content = REPAIRS[malformed.mistake]
        self._came_of_it(observation=content)
        if self._repairs > REPAIRS_IN_A_ROW:
            raise TurnFailed("malformed_output", f"The model's output stays {malformed.mistake}.")
        self._write(Observation(content, ok=False, repair=malformed.mistake))
        self._parts.history.step(self.index, malformed.said, written_back(content))

    def _failed(self, error: KefuError) -> TurnResult:
        saying = self._saying
        partial = self._cut()
        self._log_failure(error, saying)
        tried = saying.reply.attempts if saying else ()
        why = TurnError(error.code, error.message, tried, error.retry_after)
        return self._end("error", partial, why)

    def _log_failure(self, error: KefuError, saying: Saying | None) -> None:
        reply = saying.reply if saying else None
        attempts = reply.attempts if reply else ()
        latency = reply.latency_ms if reply else None
        self._write(Error(error.message, error.code, latency, attempts))

    def interrupted(self) -> TurnResult:
        """The user has had enough: what there is of the answer stays."""
        partial = self._cut()
        self._write(Interrupt(partial))
        if partial:
            self._parts.history.stopped(self.index, partial)
        return self._end("interrupted", partial)

    def broken(self, error: BaseException) -> None:
        """Something failed that nobody foresaw: the log and the conversation stay in order."""
        self._cut()
        self._end("error", "", TurnError("internal_error", type(error).__name__))

    def _cut(self) -> str:
        """Log the call that did not come to its end; the answer so far."""
        saying, self._saying = self._saying, None
        if saying is None or not saying.reply.begun:
            return ""
        self._heard(saying)
        return answer_so_far(saying.reply.text)

    def _end(self, status: TurnStatus, text: str, error: TurnError | None = None) -> TurnResult:
        parts = self._parts
        if status != "ok" and not (status == "interrupted" and text):
            parts.history.forget(self.index)
        self._step = None
        self._write(
            TurnEnd(
                status,
                len(self._steps),
                round((parts.deps.clock.monotonic() - self._started) * 1000),
                error.message if error else None,
                error.code if error else None,
                parts.meter.turn,
            )
        )
        return TurnResult(
            text,
            tuple(self._steps),
            status,
            parts.meter.turn,
            error,
            self.index,
            self._said,
            self._started_at,
            parts.deps.clock.now(),
        )
