"""A session of the terminal chat: runs turns of one conversation, one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from kefu.agent.events import (
    AgentSessionId,
    Rewind,
    SessionEnd,
    SessionEvent,
    SessionResume,
    SessionStart,
    Tokens,
)
from kefu.agent.history import ChatHistory
from kefu.agent.instructions import system_prompt
from kefu.agent.journal import Journal
from kefu.agent.model import AgentModel
from kefu.agent.options import AgentDeps, AgentOptions, TurnResult
from kefu.agent.turn import AgentTurn, TurnParts
from kefu.context import Message
from kefu.tools.use import Use


class AgentSession:
    """A conversation with the model. `create_agent_session` creates an AgentSession.

    Only one turn can run at a time.
    """

    def __init__(self, deps: AgentDeps, options: AgentOptions) -> None:
        past = options.resumed
        self.id: AgentSessionId = past.session_id if past else deps.new_id()
        self.turn_count = past.turns if past else 0
        self._options = options
        self._deps = deps
        self._clock = deps.clock
        self.mode = options.mode
        self.config = {
            "model": options.sampling.model,
            "tokenizer": deps.counter_name,
            **_logged_config(options, deps),
        }
        """The options of the session. The log has model and tokenizer as separate fields."""
        self.started_at = deps.clock.now()
        """Unix time in seconds at which this process started or resumed the session."""
        self.ended_at: float | None = None
        self._started = deps.clock.monotonic()
        self._history = ChatHistory(deps.counter, past.entries if past else ())
        self._running: asyncio.Task[object] | None = None
        self._stopping = self._closed = False
        self._journal = Journal(
            self.id,
            deps.clock,
            deps.history_sinks,
            deps.on_event,
            deps.warn,
            last_seq=past.last_seq if past else 0,
            log_chunks=options.log_chunks,
        )
        before = past.tokens if past else None
        self._model = AgentModel(deps.relay, deps.clock, options.sampling, deps.counter, before)
        self._parts = TurnParts(
            self.id,
            deps,
            options,
            self._journal,
            self._history,
            self._model,
            [Use("", name, "", state="done") for name in self._history.observed],
        )
        self._open()

    def _open(self) -> None:
        options, counter = self._options, self._deps.counter_name
        if options.resumed:
            self._journal.write(SessionResume(options.mode, options.sampling.model, counter))
            return
        prompt = system_prompt(options.system_prompt, self._deps.tools.values())
        if prompt:
            self._history.add_system_prompt(prompt)
        self._journal.write(
            SessionStart(
                options.mode,
                _logged_config(options, self._deps),
                options.sampling.model,
                counter,
                prompt or None,
                sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest() if prompt else None,
            )
        )

    @property
    def chat_history(self) -> Sequence[Message]:
        """The messages of the next prompt, before token limits are applied."""
        return self._history.messages

    @property
    def prompt_tokens(self) -> int:
        """Tokens of `chat_history` by Kefu's count."""
        return self._history.tokens

    @property
    def tokens(self) -> Tokens:
        """Sum over all model calls of the session, including earlier processes."""
        return self._model.session

    @property
    def drift(self) -> float | None:
        """The relative error of Kefu's count: 0.1 is 10 % too much. None if it is unknown."""
        return self._model.drift

    async def run_turn(self, user_input: str) -> TurnResult:
        """Run a turn for a message of the user. Returns the answer or the error.

        `interrupt` ends the turn with the status `interrupted`. Cancelling the task ends the turn
        in the same way and raises CancelledError. Raises RuntimeError while another turn runs, and
        after `close`.
        """
        if self._running or self._closed:
            raise RuntimeError("one turn at a time, and none after the end")
        self.turn_count += 1
        turn = AgentTurn(self.turn_count, self._parts)
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
        return result

    def interrupt(self) -> bool:
        """Stop the running turn. Returns False if none is running.

        `interrupt` may be called in a signal handler of the event loop.
        """
        if self._running is None:
            return False
        if not self._stopping:
            self._stopping = True
            self._running.cancel()
        return True

    def undo(self) -> str | None:
        """Remove the last turn. Returns the turn's user message, or None without a turn."""
        turn = self._history.last_turn()
        if not turn:
            return None
        user_input = self._history.question(turn)
        self._history.remove_turn(turn)
        self._journal.write(Rewind("undo", turn))
        return user_input

    def clear(self) -> None:
        """Remove all turns from the conversation. The log keeps the turns."""
        self._history.clear()
        self._journal.write(Rewind("clear"))

    async def close(self, reason: str = "exit") -> None:
        """Write `session_end` and flush the sinks. A second `close` does nothing."""
        if self._closed:
            return
        self._closed = True
        self.ended_at = self._clock.now()
        spent = round((self._clock.monotonic() - self._started) * 1000)
        self._journal.write(SessionEnd(self.turn_count, spent, self._model.session, reason))
        await self._journal.flush()


def _logged_config(options: AgentOptions, deps: AgentDeps) -> dict[str, object]:
    """The options for the field `config` of `session_start`."""
    config: dict[str, object] = {
        "temperature": options.sampling.temperature,
        "tools": list(deps.tools),
        "maxSteps": options.max_steps,
        "toolPolicy": options.tool_policy,
        "maxPromptTokens": options.limits.maximum,
        "warnPromptTokens": options.limits.warn,
        "budgetAction": options.limits.action,
        "workingDirectory": options.working_directory or None,
    }
    return {name: value for name, value in config.items() if value is not None}


def create_agent_session(deps: AgentDeps, options: AgentOptions) -> AgentSession:
    """Creates a session, or resumes `options.resumed`. Writes the first event to the log."""
    return AgentSession(deps, options)


async def run_agent(question: str, deps: AgentDeps, options: AgentOptions) -> list[SessionEvent]:
    """Runs a session that has a single turn, and returns its events."""
    events: list[SessionEvent] = []
    forward = deps.on_event

    def record(event: SessionEvent) -> None:
        events.append(event)
        forward(event)

    session = create_agent_session(replace(deps, on_event=record), replace(options, mode="once"))
    try:
        await session.run_turn(question)
    finally:
        await session.close()
    return events
