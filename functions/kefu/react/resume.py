"""Functions over a session's log: go on with it, branch off from it, see it again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kefu.context import Message, MessageCounter
from kefu.events import (
    Assistant,
    Body,
    Budget,
    Event,
    Final,
    Interrupt,
    Log,
    Observation,
    Rewind,
    SessionEnd,
    SessionId,
    SessionResume,
    SessionStart,
    Tokens,
    TurnEnd,
    TurnStart,
)
from kefu.react.grammar import Final as FinalWords
from kefu.react.grammar import parse
from kefu.react.history import ChatHistory, Entry
from kefu.react.observation import written_back


@dataclass(frozen=True, slots=True)
class Resumed:
    """A session as its log tells it."""

    session_id: SessionId
    entries: tuple[Entry, ...]
    """The conversation, its system prompt first if it has one."""
    turns: int
    """The number of the last turn, whatever became of it."""
    last_seq: int
    tokens: Tokens
    """The sum over all calls of the model, also those of turns without an answer."""
    model: str = ""
    closed: bool = False
    """Its end was written; else its process was killed."""


def resume(log: Log) -> Resumed:
    """What to go on with. ValueError if the log tells of no session.

    Turns without an answer, also the one a killed process was in, are not told to the model
    again; what was said until the user stopped an answer is.
    """
    told = _Retelling()
    for event in log.events:
        told.hear(event)
    if told.start is None:
        raise ValueError("the log has no session_start")
    told.settle()
    start = told.start
    last = log.events[-1]
    closed = isinstance(last.body, SessionEnd)
    entries = tuple(told.history.entries)
    return Resumed(
        last.session_id, entries, told.turns, log.last_seq, told.tokens, start.model, closed
    )


class _Retelling:
    """The conversation, rebuilt by the rules it was built by."""

    def __init__(self) -> None:
        self.history = ChatHistory(MessageCounter(len))
        self.start: SessionStart | None = None
        self.turns = 0
        self.tokens = Tokens()
        self._open = 0
        """The turn that has begun and not ended."""
        self._answered = False
        self._said = ""

    def hear(self, event: Event) -> None:
        match event.body:
            case SessionStart() as start:
                self._begin(start)
            case TurnStart(content=text):
                self.settle()
                self._open, self._answered = event.turn or self.turns + 1, False
                self.turns = max(self.turns, self._open)
                self.history.ask(self._open, text)
            case Assistant(content=text, tokens=tokens):
                self._said = text
                self.tokens += tokens
            case Budget(tokens=tokens) as budget:
                self.tokens += tokens or Tokens()
                self._summarise(budget)
            case Rewind(action="clear"):
                self.history.clear()
            case Rewind(taken_back=turn) if turn:
                self.history.forget(turn)
            case TurnEnd():
                self.settle()
            case body if self._open and not self._answered:
                self._go_on(self._open, body)

    def _go_on(self, turn: int, body: Body) -> None:
        """Where lines are missing, what belongs to no turn that has begun is left out."""
        match body:
            case Observation(content=content, tool=tool):
                words = parse(self._said)
                said = self._said if isinstance(words, FinalWords) else words.said
                self.history.step(turn, said, written_back(content, tool))
            case Final(content=text):
                self._answered = True
                self.history.answer(turn, text)
            case Interrupt(content=text) if text:
                self._answered = True
                self.history.stopped(turn, text)

    def _begin(self, start: SessionStart) -> None:
        if self.start is None and start.system_prompt:
            self.history.tell(start.system_prompt)
        self.start = self.start or start

    def _summarise(self, budget: Budget) -> None:
        if budget.action == "summarize" and budget.content:
            summary = Message("user", budget.content, summary=True)
            self.history.summarised(summary, [(run.start, run.stop) for run in budget.left_out])

    def settle(self) -> None:
        """The open turn is over: without an answer it leaves the conversation."""
        if self._open and not self._answered:
            self.history.forget(self._open)
        self._open = 0


def fork(log: Log, new_id: SessionId, turn: int | None = None) -> tuple[Event, ...]:
    """The events of a new session that begins as a copy, up to and with this turn; None: all.

    ValueError if there is no such turn.
    """
    turns = {event.turn for event in log.events if isinstance(event.body, TurnStart)}
    if turn is not None and turn not in turns:
        raise ValueError(f"there is no turn {turn}")
    copied: list[Event] = []
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


def replay(log: Log) -> Iterator[tuple[float, Event]]:
    """Each event and how many seconds after the one before it came; a clock set back is no time."""
    before: float | None = None
    for event in log.events:
        yield max(0.0, event.ts - before) if before is not None else 0.0, event
        before = event.ts
