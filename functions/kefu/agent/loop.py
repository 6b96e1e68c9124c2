"""The ReAct loop: runs one turn, from the user's message to the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kefu.agent.budget import PromptLimits
from kefu.agent.display import answer_so_far
from kefu.agent.events import (
    Error,
    Estimate,
    EventBody,
    Final,
    Interrupt,
    Observation,
    Tokens,
    TurnEnd,
    TurnStart,
    TurnStatus,
)
from kefu.agent.grammar import Malformed, ParsedAction, ParsedAnswer, parse
from kefu.agent.history import ChatHistory
from kefu.agent.instructions import observation_message, repair
from kefu.agent.journal import Journal
from kefu.agent.meter import Meter
from kefu.agent.model import AgentModel, StreamedReply
from kefu.agent.options import AgentDeps, AgentOptions, Step, TurnError, TurnResult
from kefu.agent.tooling import TurnFailed, Workbench
from kefu.context import Message
from kefu.errors import ContextTooLong, KefuError

REPAIRS_IN_A_ROW = 2


@dataclass(frozen=True, slots=True)
class TurnParts:
    """The objects that all turns of a session share."""

    deps: AgentDeps
    options: AgentOptions
    journal: Journal
    history: ChatHistory
    meter: Meter
    model: AgentModel


class AgentTurn:
    """One turn: model calls and tool calls until the model answers or the turn fails."""

    def __init__(self, index: int, parts: TurnParts) -> None:
        self.index = index
        self._parts = parts
        self._step: int | None = None
        self._steps: list[Step] = []
        self._streamed: StreamedReply | None = None
        """The model call in progress."""
        self._prompt = 0
        self._repairs = 0
        self._workbench = Workbench(parts.deps, parts.options, self._write)
        self._limits = PromptLimits(
            parts.options.limits, parts.history, parts.model, parts.meter, self._write
        )
        self._user_input = ""
        self._started = parts.deps.clock.monotonic()
        self._started_at = parts.deps.clock.now()

    def _write(self, body: EventBody) -> None:
        self._parts.journal.write(body, self.index, self._step)

    def begin(self, user_input: str) -> None:
        """Add the user's message to the history and the log."""
        self._user_input = user_input
        self._parts.meter.begin()
        self._parts.history.add_question(self.index, user_input)
        self._write(
            TurnStart(user_input, tokens=Estimate(self._parts.deps.counter.count(user_input)))
        )

    async def run(self) -> TurnResult:
        """Run steps until the turn ends. Returns the answer or the error."""
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
        """Run one step. Returns the answer if the model gave one, else None."""
        messages, self._prompt = await self._limits.prompt()
        try:
            streamed = await self._ask(messages)
        except ContextTooLong as error:
            shorter = self._limits.halved(self._prompt)
            if shorter is None:
                raise
            self._log_failure(error, self._streamed)
            messages, self._prompt = shorter
            streamed = await self._ask(messages)
        tokens = self._record(streamed)
        text, self._streamed = streamed.output.text, None
        self._steps.append(Step(step, text, tokens=tokens))
        match parse(text):
            case ParsedAnswer(answer, implicit):
                return self._answer(answer, implicit=implicit)
            case ParsedAction() as action:
                await self._act(action)
            case Malformed() as malformed:
                self._repair(malformed)
        return None

    async def _ask(self, messages: Sequence[Message]) -> StreamedReply:
        streamed = StreamedReply(
            self._parts.model.prepare(messages), self._parts.deps.on_piece, self._write
        )
        self._streamed = streamed
        await self._parts.model.ask(streamed.output, streamed.feed)
        return streamed

    def _record(self, streamed: StreamedReply) -> Tokens:
        """Count and log a model call, complete or not."""
        streamed.close()
        tokens, estimate = self._parts.meter.note(streamed.output, self._prompt)
        self._write(streamed.output.event(tokens, estimate))
        return tokens

    def _update_step(self, **values: Any) -> None:
        """Set fields of the last step."""
        self._steps[-1] = replace(self._steps[-1], **values)

    def _answer(self, answer: str, *, implicit: bool) -> str:
        self._update_step(parsed_final=answer)
        self._parts.history.add_answer(self.index, answer)
        tokens = self._parts.meter.turn
        self._write(Final(answer, tokens=tokens, implicit=True if implicit else None))
        return answer

    async def _act(self, action: ParsedAction) -> None:
        self._repairs = 0
        self._update_step(parsed_action=(action.tool, action.input), tool=action.tool)
        content = await self._workbench.run(action)
        self._update_step(observation=content)
        self._parts.history.add_step(
            self.index, action.output, observation_message(content, action.tool)
        )

    def _repair(self, malformed: Malformed) -> None:
        self._repairs += 1
        content = repair(malformed.mistake, self._parts.deps.tools)
        self._update_step(observation=content)
        if self._repairs > REPAIRS_IN_A_ROW:
            raise TurnFailed("malformed_output", f"The model's output stays {malformed.mistake}.")
        self._write(Observation(content, ok=False, repair=malformed.mistake))
        self._parts.history.add_step(self.index, malformed.output, observation_message(content))

    def _failed(self, error: KefuError) -> TurnResult:
        streamed = self._streamed
        partial = self._cut()
        self._log_failure(error, streamed)
        tried = streamed.output.attempts if streamed else ()
        why = TurnError(error.code, error.message, tried, error.retry_after)
        return self._end("error", partial, why)

    def _log_failure(self, error: KefuError, streamed: StreamedReply | None) -> None:
        output = streamed.output if streamed else None
        attempts = output.attempts if output else ()
        latency = output.latency_ms if output else None
        self._write(Error(error.message, error.code, latency, attempts))

    def interrupted(self) -> TurnResult:
        """End the turn after an interrupt of the user. The partial answer is kept."""
        partial = self._cut()
        self._write(Interrupt(partial))
        if partial:
            self._parts.history.end_interrupted(self.index, partial)
        return self._end("interrupted", partial)

    def broken(self, error: BaseException) -> None:
        """End the turn after an unexpected exception, so that log and history stay consistent."""
        self._cut()
        self._end("error", "", TurnError("internal_error", type(error).__name__))

    def _cut(self) -> str:
        """Log the incomplete model call. Returns the partial answer."""
        streamed, self._streamed = self._streamed, None
        if streamed is None or not streamed.output.begun:
            return ""
        self._record(streamed)
        return answer_so_far(streamed.output.text)

    def _end(self, status: TurnStatus, text: str, error: TurnError | None = None) -> TurnResult:
        parts = self._parts
        if status != "ok" and not (status == "interrupted" and text):
            parts.history.remove_turn(self.index)
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
            self._user_input,
            self._started_at,
            parts.deps.clock.now(),
        )
