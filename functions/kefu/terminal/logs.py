"""Finds stored sessions by id, and exports them in several formats."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from kefu.agent.events import (
    AgentSessionId,
    Final,
    Interrupt,
    Log,
    SessionEnd,
    SessionStart,
    TurnEnd,
    TurnStart,
    event_line,
)
from kefu.errors import HistoryUnavailable
from kefu.terminal.clean import one_line

if TYPE_CHECKING:
    from kefu.stores.jsonl import SessionLogs

# Characters that JSON allows, but that are unsafe in a terminal or not valid in UTF-8.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

Form = Literal["jsonl", "json", "md", "txt"]


def session_ending_in(logs: SessionLogs, ending: str) -> AgentSessionId:
    """The session whose id ends with `ending`. Raises HistoryUnavailable for none or several."""
    suffix = ending.upper().removeprefix("SESS_")
    ids = [session_id for session_id in logs.ids() if session_id.endswith(suffix)]
    if not ids:
        raise HistoryUnavailable(f"there is no session {ending[:80]}")
    if len(ids) > 1:
        raise HistoryUnavailable(f"{ending} is the end of several sessions: {', '.join(ids[:4])}")
    return ids[0]


class LoggedMessage(NamedTuple):
    """A message of the user or an answer of the model."""

    role: Literal["user", "assistant"]
    text: str
    ts: float
    """Unix time in seconds."""
    turn: int
    complete: bool = True
    """False for the partial answer of an interrupted turn."""


def messages_of(log: Log) -> Iterator[LoggedMessage]:
    """The user's messages and the answers, without steps and tool calls."""
    for event in log.events:
        turn = event.turn or 0
        match event.body:
            case TurnStart(content=text):
                yield LoggedMessage("user", text, event.ts, turn)
            case Final(content=text):
                yield LoggedMessage("assistant", text, event.ts, turn)
            case Interrupt(content=text) if text:
                yield LoggedMessage("assistant", text, event.ts, turn, complete=False)
            case _:
                continue


def moment(ts: float) -> str:
    """Unix time as local date and time."""
    return f"{datetime.fromtimestamp(ts, UTC).astimezone():%Y-%m-%d %H:%M}"


def session_line(session_id: AgentSessionId, log: Log) -> str:
    """The session on one line, for a list: id, start, turns, tokens and first message."""
    bodies = [event.body for event in log.events]
    started = moment(log.events[0].ts if log.events else 0.0)
    messages = [body.content for body in bodies if isinstance(body, TurnStart)]
    tokens = sum(body.tokens.total for body in bodies if isinstance(body, TurnEnd))
    turns = f"{len(messages):>3} turn{' ' if len(messages) == 1 else 's'}"
    first = one_line(messages[0], 60) if messages else ""
    ended = "" if bodies and isinstance(bodies[-1], SessionEnd) else "  (no end)"
    return f"{session_id}  {started}  {turns}  {tokens:>6} tokens  {first}{ended}"


def exported(session_id: AgentSessionId, log: Log, form: Form) -> str:
    """The whole session in the given format."""
    if form == "jsonl":
        return "".join(event_line(event).decode() for event in log.events)
    if form == "json":
        return _json(session_id, log)
    return _prose(session_id, log, heading=form == "md")


def _json(session_id: AgentSessionId, log: Log) -> str:
    start = next((e.body for e in log.events if isinstance(e.body, SessionStart)), SessionStart())
    messages = [
        {
            "role": message.role,
            "content": message.text,
            "turn": message.turn,
            "created_at": message.ts,
            **({} if message.complete else {"status": "interrupted"}),
        }
        for message in messages_of(log)
    ]
    export = {"session_id": session_id, "model": start.model, "messages": messages}
    text = json.dumps(export, ensure_ascii=False, indent=2)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def _prose(session_id: AgentSessionId, log: Log, *, heading: bool) -> str:
    names = {"user": "You", "assistant": "Kefu"}
    lines = [f"# {session_id}\n"] if heading else [f"{session_id}\n"]
    ends = {event.turn: event.body for event in log.events if isinstance(event.body, TurnEnd)}
    for message in messages_of(log):
        name = names[message.role] + ("" if message.complete else " (stopped)")
        lines.append(f"**{name}** · {moment(message.ts)}\n" if heading else f"{name}:")
        lines.append(f"{message.text}\n")
        end = ends.get(message.turn)
        if message.role == "user" and end and end.error_message:
            lines.append(f"(no answer: {end.error_message})\n")
    return "\n".join(lines)
