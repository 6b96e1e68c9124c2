"""One turn, from the user's message to the answer.

`kefu.tools.loop` asks the model and runs its calls. Here, the model writes its calls in tags, and
everything is logged.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from kefu.agent.budget import PromptLimits
from kefu.agent.calls import TurnCalls, carried_out
from kefu.agent.display import Piece, Splitter, answer_so_far
from kefu.agent.events import (
    AgentSessionId,
    AssistantChunk,
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
from kefu.agent.model import AgentModel, ModelOutput
from kefu.agent.options import AgentDeps, AgentOptions, Step, TurnError, TurnFailed, TurnResult
from kefu.errors import ContextTooLong, KefuError
from kefu.tools.loop import run_steps
from kefu.tools.use import Use

REPAIRS_IN_A_ROW = 2


@dataclass(frozen=True, slots=True)
class TurnParts:
    """The objects that all turns of a session share."""

    session_id: AgentSessionId
    deps: AgentDeps
    options: AgentOptions
    journal: Journal
    history: ChatHistory
    model: AgentModel
    seen: list[Use]
    """The calls so far, without arguments and results."""


class AgentTurn:
    """One turn: model calls and tool calls until the model answers or the turn fails.

    It is the `StepModel` of its loop.
    """

    def __init__(self, index: int, parts: TurnParts) -> None:
        self.index = index
        self._parts = parts
        self._step: int | None = None
        self._steps: list[Step] = []
        self._output: ModelOutput | None = None
        """The model call in progress."""
        self._splitter = Splitter()
        self._prompt = 0
        self._repairs = 0
        self._text = ""
        self._calls = TurnCalls(parts.deps, parts.options, self._write)
        self._bench = self._calls.bench(parts.session_id, index, parts.seen)
        self._limits = PromptLimits(parts.options.limits, parts.history, parts.model, self._write)
        self._user_input = ""
        self._started = parts.deps.clock.monotonic()
        self._started_at = parts.deps.clock.now()

    def _write(self, body: EventBody) -> None:
        self._parts.journal.write(body, self.index, self._step)

    def begin(self, user_input: str) -> None:
        """Add the user's message to the history and the log."""
        self._user_input = user_input
        self._parts.model.turn = Tokens()
        self._parts.history.add_question(self.index, user_input)
        self._write(
            TurnStart(user_input, tokens=Estimate(self._parts.deps.counter.count(user_input)))
        )

    async def run(self) -> TurnResult:
        """Run steps until the turn ends. Returns the answer or the error."""
        try:
            async with aclosing(run_steps(self, self._bench)) as events:
                async for event in events:
                    if isinstance(event, Piece):
                        self._parts.deps.on_piece(event)
                    elif event and event.state != "running":
                        self._observe(event)
        except TurnFailed as failed:
            status: TurnStatus = "max_steps" if failed.error.code == "max_steps" else "error"
            return self._end(status, "", failed.error)
        except KefuError as error:
            return self._failed(error)
        return self._end("ok", self._text)

    async def ask(self) -> AsyncGenerator[Piece]:
        """Ask the model once; its output in pieces. Raises TurnFailed and the relay's KefuErrors.

        A prompt that is too long for the model is halved, and sent once more.
        """
        if self._bench.is_last:
            limit = f"No answer after {self._parts.options.max_steps} steps."
            raise TurnFailed("max_steps", limit)
        self._step = self._bench.step
        messages, self._prompt = await self._limits.prompt()
        may_halve = True
        while True:
            output = self._output = self._parts.model.prepare(messages)
            self._splitter = Splitter()
            try:
                async with aclosing(self._parts.model.deltas(output)) as deltas:
                    async for delta in deltas:
                        self._write(AssistantChunk(delta))
                        for piece in self._splitter.feed(delta):
                            yield piece
                break
            except ContextTooLong as error:
                shorter = self._limits.halved(self._prompt) if may_halve else None
                if shorter is None:
                    raise
                self._log_failure(error, output)
                (messages, self._prompt), may_halve = shorter, False
        tokens = self._record(output)
        self._steps.append(Step(self._step, output.text, tokens=tokens))
        self._output = None

    def _record(self, output: ModelOutput) -> Tokens:
        """Count and log a model call, complete or not."""
        for piece in self._splitter.close():
            self._parts.deps.on_piece(piece)
        tokens, estimate = self._parts.model.note(output, self._prompt)
        self._write(output.event(tokens, estimate))
        return tokens

    def _update_step(self, **values: Any) -> None:
        """Set fields of the last step."""
        self._steps[-1] = replace(self._steps[-1], **values)

    def take(self) -> Sequence[Use] | None:
        """The call in the output; None for an answer, and no call for malformed output."""
        match parse(self._steps[-1].assistant_text):
            case ParsedAnswer(answer, implicit):
                self._update_step(parsed_final=answer)
                self._answer(answer, implicit=implicit)
                return None
            case ParsedAction() as action:
                self._repairs = 0
                self._update_step(parsed_action=(action.tool, action.input), tool=action.tool)
                return self._calls.take(action, self._bench)
            case Malformed() as malformed:
                self._repair(malformed)
        return ()

    def used(self) -> Sequence[Piece]:
        """Nothing more is shown of calls."""
        return ()

    def _answer(self, answer: str, *, implicit: bool) -> None:
        self._text = answer
        self._parts.history.add_answer(self.index, answer)
        tokens = self._parts.model.turn
        self._write(Final(answer, tokens=tokens, implicit=True if implicit else None))

    def _observe(self, use: Use) -> None:
        """Log the result of a call, and give it to the model."""
        use = self._calls.observe(use, self._bench)
        self._update_step(observation=use.result)
        action = self._calls.action
        message = observation_message(use.result, action.tool)
        self._parts.history.add_step(self.index, action.output, message)
        self._parts.seen.append(use._replace(arguments="", result=""))
        self._calls.check(use)

    def _repair(self, malformed: Malformed) -> None:
        self._repairs += 1
        content = repair(malformed.mistake, self._parts.deps.tools)
        self._update_step(observation=content)
        if self._repairs > REPAIRS_IN_A_ROW:
            raise TurnFailed("malformed_output", f"The model's output stays {malformed.mistake}.")
        self._write(Observation(content, ok=False, repair=malformed.mistake))
        self._parts.history.add_step(self.index, malformed.output, observation_message(content))

    def _failed(self, error: KefuError) -> TurnResult:
        output = self._output
        partial = self._cut()
        self._log_failure(error, output)
        tried = output.attempts if output else ()
        why = TurnError(error.code, error.message, tried, error.retry_after)
        return self._end("error", partial, why)

    def _log_failure(self, error: KefuError, output: ModelOutput | None) -> None:
        self._write(output.failure(error) if output else Error(error.message, error.code))

    def interrupted(self) -> TurnResult:
        """End the turn after an interrupt of the user. The partial answer is kept."""
        partial = "\n\n".join(filter(None, (self._cut(), carried_out(self._bench))))
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
        output, self._output = self._output, None
        if output is None or not output.begun:
            return ""
        self._record(output)
        return answer_so_far(output.text)

    def _end(self, status: TurnStatus, text: str, error: TurnError | None = None) -> TurnResult:
        parts = self._parts
        if status in ("error", "max_steps") and (done := carried_out(self._bench)):
            text = "\n\n".join(filter(None, (text, done)))
            self._answer(text, implicit=True)
        elif status != "ok" and not (status == "interrupted" and text):
            parts.history.remove_turn(self.index)
        self._step = None
        self._write(
            TurnEnd(
                status,
                len(self._steps),
                round((parts.deps.clock.monotonic() - self._started) * 1000),
                error.message if error else None,
                error.code if error else None,
                parts.model.turn,
            )
        )
        return TurnResult(
            text,
            tuple(self._steps),
            status,
            parts.model.turn,
            error,
            self.index,
            self._user_input,
            self._started_at,
            parts.deps.clock.now(),
        )
