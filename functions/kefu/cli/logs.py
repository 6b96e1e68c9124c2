"""Kept sessions by name, and in the forms people want them in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Literal

from kefu.cli.clean import one_line
from kefu.errors import HistoryUnavailable
from kefu.events import (
    Event,
    Final,
    Interrupt,
    Log,
    SessionEnd,
    SessionId,
    SessionStart,
    TurnEnd,
    TurnStart,
    event_line,
)
from kefu.lean_typing import NamedTuple, Protocol

# What JSON lets through, and a terminal or UTF-8 does not.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

Form = Literal["jsonl", "json", "md", "txt"]


class Logs(Protocol):
    """Every method raises HistoryUnavailable, whose text is for a person."""

    def ids(self) -> Sequence[SessionId]:
        """The one that was last written to first."""
        ...

    def read(self, session_id: SessionId) -> Log: ...

    def keep(self, session_id: SessionId, events: Iterable[Event]) -> str:
        """A new log of these events, and where it is. There must be none of this name."""
        ...

    def remove(self, session_id: SessionId) -> None:
        """For good; refused while a process writes to it."""
        ...


def found(logs: Logs, ending: str) -> SessionId:
    """The session whose name ends so. Raises HistoryUnavailable for none or several."""
    ids = [known for known in logs.ids() if known.endswith(ending.upper().removeprefix("SESS_"))]
    if not ids:
        raise HistoryUnavailable(f"there is no session {ending[:80]}")
    if len(ids) > 1:
        raise HistoryUnavailable(f"{ending} is the end of several sessions: {', '.join(ids[:4])}")
    return ids[0]


class Said(NamedTuple):
    role: Literal["user", "assistant"]
    text: str
    ts: float
    turn: int
    whole: bool = True
    """False for what was said of an answer until it was stopped."""


def said(log: Log) -> Iterator[Said]:
    """Questions and answers, as a person remembers them."""
    for event in log.events:
        turn = event.turn or 0
        match event.body:
            case TurnStart(content=text):
                yield Said("user", text, event.ts, turn)
            case Final(content=text):
                yield Said("assistant", text, event.ts, turn)
            case Interrupt(content=text) if text:
                yield Said("assistant", text, event.ts, turn, whole=False)
            case _:
                continue


class Summary(NamedTuple):
    session_id: SessionId
    started: float
    turns: int
    tokens: int
    first: str
    """The first question."""
    closed: bool


def summary(session_id: SessionId, log: Log) -> Summary:
    events = log.events
    turns = [event for event in events if isinstance(event.body, TurnStart)]
    ends = [event.body.tokens.total for event in events if isinstance(event.body, TurnEnd)]
    first = turns[0].body.content if turns and isinstance(turns[0].body, TurnStart) else ""
    closed = bool(events) and isinstance(events[-1].body, SessionEnd)
    started = events[0].ts if events else 0.0
    return Summary(session_id, started, len(turns), sum(ends), first, closed)


def moment(ts: float) -> str:
    return f"{datetime.fromtimestamp(ts, UTC).astimezone():%Y-%m-%d %H:%M}"


def listed(session_id: SessionId, log: Log) -> str:
    """The session on one line."""
    told = summary(session_id, log)
    turns = f"{told.turns:>3} turn{' ' if told.turns == 1 else 's'}"
    ended = "" if told.closed else "  (no end)"
    first = one_line(told.first, 60)
    return f"{session_id}  {moment(told.started)}  {turns}  {told.tokens:>6} tokens  {first}{ended}"


def written(session_id: SessionId, log: Log, form: Form) -> str:
    """The whole session in this form."""
    if form == "jsonl":
        return "".join(event_line(event).decode() for event in log.events)
    if form == "json":
        return _json(session_id, log)
    return _prose(session_id, log, heading=form == "md")


def _json(session_id: SessionId, log: Log) -> str:
    start = next((e.body for e in log.events if isinstance(e.body, SessionStart)), SessionStart())
    messages = [
        {
            "role": message.role,
            "content": message.text,
            "turn": message.turn,
            "created_at": message.ts,
            **({} if message.whole else {"status": "interrupted"}),
        }
        for message in said(log)
    ]
    whole = {"session_id": session_id, "model": start.model, "messages": messages}
    text = json.dumps(whole, ensure_ascii=False, indent=2)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def _prose(session_id: SessionId, log: Log, *, heading: bool) -> str:
    names = {"user": "You", "assistant": "Kefu"}
    lines = [f"# {session_id}\n"] if heading else [f"{session_id}\n"]
    ends = {event.turn: event.body for event in log.events if isinstance(event.body, TurnEnd)}
    for message in said(log):
        name = names[message.role] + ("" if message.whole else " (stopped)")
        lines.append(f"**{name}** · {moment(message.ts)}\n" if heading else f"{name}:")
        lines.append(f"{message.text}\n")
        end = ends.get(message.turn)
        if message.role == "user" and end and end.error_message:
            lines.append(f"(no answer: {end.error_message})\n")
    return "\n".join(lines)
