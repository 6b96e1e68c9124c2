"""Resumes and forks a session from its log, and restores its requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kefu.agent.events import (
    AgentSessionId,
    Assistant,
    BudgetExceeded,
    EventBody,
    Final,
    Interrupt,
    Log,
    Observation,
    Rewind,
    SessionEnd,
    SessionEvent,
    SessionResume,
    SessionStart,
    Tokens,
    TurnEnd,
    TurnStart,
)
from kefu.agent.grammar import ParsedAnswer, parse
from kefu.agent.history import ChatHistory, Entry
from kefu.agent.instructions import observation_message
from kefu.context import Message, MessageCounter


@dataclass(frozen=True, slots=True)
class Resumed:
    """The state of a session, restored from its log."""

    session_id: AgentSessionId
    entries: tuple[Entry, ...]
    """The conversation, with its system prompt first if it has one."""
    turns: int
    """The number of the last turn, including failed turns."""
    last_seq: int
    """The highest sequence number in the log."""
    tokens: Tokens
    """The tokens of all calls of the model, including those of failed turns."""
    model: str = ""
    """Name of the model."""
    closed: bool = False
    """Whether the log ends with `session_end`. If it does not, the process was killed."""


def resume(log: Log) -> Resumed:
    """Restores a session. Raises ValueError if the log has no `session_start`.

    Turns without an answer are left out of the conversation, also an unfinished last turn. The
    partial answer of an interrupted turn is kept.
    """
    restored = _RestoredSession()
    for event in log.events:
        restored.apply(event)
    if restored.start is None:
        raise ValueError("the log has no session_start")
    restored.end_turn()
    start = restored.start
    last = log.events[-1]
    closed = isinstance(last.body, SessionEnd)
    entries = tuple(restored.history.entries)
    return Resumed(
        last.session_id, entries, restored.turns, log.last_seq, restored.tokens, start.model, closed
    )


class _RestoredSession:
    """Rebuilds the conversation from events, by the rules of `AgentTurn`."""

    def __init__(self) -> None:
        self.history = ChatHistory(MessageCounter(len))
        self.start: SessionStart | None = None
        self.turns = 0
        self.tokens = Tokens()
        self._open_turn = 0
        """Number of the turn that has started and not ended; 0 if there is none."""
        self._answered = False
        self._output = ""

    def apply(self, event: SessionEvent) -> None:
        match event.body:
            case SessionStart() as start:
                self._begin(start)
            case TurnStart(content=text):
                self.end_turn()
                self._open_turn, self._answered = event.turn or self.turns + 1, False
                self.turns = max(self.turns, self._open_turn)
                self.history.add_question(self._open_turn, text)
            case Assistant(content=text, tokens=tokens):
                self._output = text
                self.tokens += tokens
            case BudgetExceeded(tokens=tokens) as budget:
                self.tokens += tokens or Tokens()
                self._summarise(budget)
            case Rewind(action="clear"):
                self.history.clear()
            case Rewind(taken_back=turn) if turn:
                self.history.remove_turn(turn)
            case TurnEnd():
                self.end_turn()
            case body if self._open_turn and not self._answered:
                self._apply_in_turn(self._open_turn, body)

    def _apply_in_turn(self, turn: int, body: EventBody) -> None:
        """Apply an event within a turn. Events without a `turn_start` before them are ignored."""
        match body:
            case Observation(content=content, tool=tool):
                parsed = parse(self._output)
                output = self._output if isinstance(parsed, ParsedAnswer) else parsed.output
                self.history.add_step(turn, output, observation_message(content, tool))
            case Final(content=text):
                self._answered = True
                self.history.add_answer(turn, text)
            case Interrupt(content=text) if text:
                self._answered = True
                self.history.end_interrupted(turn, text)

    def _begin(self, start: SessionStart) -> None:
        if self.start is None and start.system_prompt:
            self.history.add_system_prompt(start.system_prompt)
        self.start = self.start or start

    def _summarise(self, budget: BudgetExceeded) -> None:
        if budget.action == "summarize" and budget.content:
            summary = Message("user", budget.content, summary=True)
            self.history.replace_by_summary(
                summary, [(run.start, run.stop) for run in budget.left_out]
            )

    def end_turn(self) -> None:
        """End the open turn. A turn without an answer is removed from the conversation."""
        if self._open_turn and not self._answered:
            self.history.remove_turn(self._open_turn)
        self._open_turn = 0


def fork(log: Log, new_id: AgentSessionId, turn: int | None = None) -> tuple[SessionEvent, ...]:
    """The events of a copy of a session, up to and including `turn`; None: all turns.

    Raises ValueError if the session has no such turn.
    """
    turns = {event.turn for event in log.events if isinstance(event.body, TurnStart)}
    if turn is not None and turn not in turns:
        raise ValueError(f"there is no turn {turn}")
    copied: list[SessionEvent] = []
    for event in log.events:
        if turn is not None and isinstance(event.body, TurnStart) and (event.turn or 0) > turn:
            break
        if not isinstance(event.body, SessionResume | SessionEnd):
            copied.append(replace(event, session_id=new_id, seq=len(copied) + 1))
    for at, event in enumerate(copied):
        if isinstance(event.body, SessionStart):
            origin = log.events[0].session_id + (f":{turn}" if turn is not None else "")
            copied[at] = replace(event, body=replace(event.body, forked_from=origin))
            break
    return tuple(copied)


def prompts(log: Log) -> Iterator[tuple[SessionEvent, Sequence[Message]]]:
    """Yields each `assistant` event with the messages that the model had received for it."""
    restored = _RestoredSession()
    for event in log.events:
        if isinstance(event.body, Assistant):
            yield event, restored.history.messages
        restored.apply(event)
