"""A session of the terminal chat: turns, one after the other, over one conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from kefu.context import Message
from kefu.events import (
    Event,
    Rewind,
    SessionEnd,
    SessionId,
    SessionResume,
    SessionStart,
    Tokens,
)
from kefu.react.history import ChatHistory
from kefu.react.journal import Journal
from kefu.react.meter import DRIFT, Meter
from kefu.react.model import Model
from kefu.react.options import AgentDeps, AgentOptions, TurnResult
from kefu.react.system_prompt import system_prompt
from kefu.react.turn import Parts, Turn


class AgentSession:
    """Made by `create_agent_session`. One turn at a time."""

    def __init__(self, deps: AgentDeps, options: AgentOptions) -> None:
        past = options.resumed
        self.id: SessionId = past.session_id if past else deps.new_id()
        self.turn_count = past.turns if past else 0
        self._options = options
        self._deps = deps
        self._clock = deps.clock
        self.mode = options.mode
        self.config = {
            "model": options.model,
            "tokenizer": deps.counter_name,
            **_noted(options, deps),
        }
        """What the session runs with; in the log, model and tokenizer stand beside the rest."""
        self.started_at = deps.clock.now()
        """Unix time in seconds: of this process's part, if the session was resumed."""
        self.ended_at: float | None = None
        self._started = deps.clock.monotonic()
        self._history = ChatHistory(deps.counter, past.entries if past else ())
        self._meter = Meter(deps.counter, past.tokens if past else None)
        self._running: asyncio.Task[object] | None = None
        self._stopping = self._closed = self._drift_told = False
        self._journal = Journal(
            self.id,
            deps.clock,
            deps.history_sinks,
            deps.on_event,
            deps.warn,
            last_seq=past.last_seq if past else 0,
            log_chunks=options.log_chunks,
        )
        model = Model(
            deps.relay, deps.clock, options.model, options.temperature, options.max_output_tokens
        )
        self._parts = Parts(deps, options, self._journal, self._history, self._meter, model)
        self._open()

    def _open(self) -> None:
        options, counter = self._options, self._deps.counter_name
        if options.resumed:
            self._journal.write(SessionResume(options.mode, options.model, counter))
            return
        prompt = system_prompt(options.system_prompt, self._deps.tools.values())
        if prompt:
            self._history.tell(prompt)
        self._journal.write(
            SessionStart(
                options.mode,
                _noted(options, self._deps),
                options.model,
                counter,
                prompt or None,
                sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest() if prompt else None,
            )
        )

    @property
    def chat_history(self) -> Sequence[Message]:
        """What the next call of the model would be told, but for its limits."""
        return self._history.messages

    @property
    def prompt_tokens(self) -> int:
        """Of `chat_history`, as Kefu counts them."""
        return self._history.tokens

    @property
    def tokens(self) -> Tokens:
        """Of all calls so far, those of earlier processes as well."""
        return self._meter.session

    @property
    def drift(self) -> float | None:
        """How far Kefu's count is from the upstream's, as a part of that; None: not known."""
        return self._meter.drift

    async def run_turn(self, user_input: str) -> TurnResult:
        """From what the user says to the answer, or why there is none.

        `interrupt` ends it with the status `interrupted`. Cancelling the task does the same to
        the log and the conversation, and then goes on as cancelling does. RuntimeError while
        another turn runs, and after the end.
        """
        if self._running or self._closed:
            raise RuntimeError("one turn at a time, and none after the end")
        self.turn_count += 1
        turn = Turn(self.turn_count, self._parts)
        turn.begin(user_input)
        task = self._running = asyncio.current_task()
        try:
            result = await turn.run()
        except asyncio.CancelledError:
            result = turn.interrupted()
            if not self._stopping or task is None:
                raise
            task.uncancel()
        except BaseException as error:
            turn.broken(error)
            raise
        finally:
            self._running, self._stopping = None, False
        await self._journal.flush()
        self._watch_drift()
        return result

    def interrupt(self) -> bool:
        """Stop the running turn; False if there is none. For a signal handler of the loop."""
        if self._running is None:
            return False
        if not self._stopping:
            self._stopping = True
            self._running.cancel()
        return True

    def undo(self) -> str | None:
        """Take the last turn back; what the user had said. None: there is nothing to undo."""
        turn = self._history.last_turn()
        if not turn:
            return None
        said = self._history.asked(turn)
        self._history.forget(turn)
        self._journal.write(Rewind("undo", turn))
        return said

    def clear(self) -> None:
        """Begin anew, with the same system prompt; the log keeps everything."""
        self._history.clear()
        self._journal.write(Rewind("clear"))

    async def close(self, reason: str = "exit") -> None:
        """Write the session's end; again: nothing."""
        if self._closed:
            return
        self._closed = True
        self.ended_at = self._clock.now()
        spent = round((self._clock.monotonic() - self._started) * 1000)
        self._journal.write(SessionEnd(self.turn_count, spent, self._meter.session, reason))
        await self._journal.flush()

    def _watch_drift(self) -> None:
        drift = self._meter.drift
        if drift is not None and abs(drift) > DRIFT and not self._drift_told:
            self._drift_told = True
            self._deps.warn(
                f"Token counts are {drift:+.0%} off what the model reports; "
                "another tokenizer may count better."
            )


def _noted(options: AgentOptions, deps: AgentDeps) -> dict[str, object]:
    """The configuration as the log has it."""
    noted: dict[str, object] = {
        "temperature": options.temperature,
        "tools": list(deps.tools),
        "maxSteps": options.max_steps,
        "toolPolicy": options.tool_policy,
        "maxPromptTokens": options.limits.maximum,
        "warnPromptTokens": options.limits.warn,
        "budgetAction": options.limits.action,
        "workingDirectory": options.working_directory or None,
    }
    return {name: value for name, value in noted.items() if value is not None}


def create_agent_session(deps: AgentDeps, options: AgentOptions) -> AgentSession:
    """A new session, or with `options.resumed` the same one again; its beginning is logged."""
    return AgentSession(deps, options)


async def run_agent(question: str, deps: AgentDeps, options: AgentOptions) -> list[Event]:
    """One question, and the events of its session: what `--once` does."""
    seen: list[Event] = []
    told = deps.on_event

    def hear(event: Event) -> None:
        seen.append(event)
        told(event)

    session = create_agent_session(replace(deps, on_event=hear), replace(options, mode="once"))
    try:
        await session.run_turn(question)
    finally:
        await session.close()
    return seen
