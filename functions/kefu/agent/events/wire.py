"""Writes events as JSON lines and reads them back.

Reading never raises: a line that cannot be read results in a notice.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast, get_args

from kefu.agent.events.envelope import EventBody, SessionEvent
from kefu.agent.events.fields import from_json, integer, to_json
from kefu.agent.ids import AgentSessionId

LOG_VERSION = 1

EVENT_TYPES: dict[str, type[EventBody]] = {body.type: body for body in get_args(EventBody)}

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode

_TOP_LEVEL = ("content", "role")
# Characters that JSON allows, but that are unsafe in a terminal, end a line, or are not valid
# UTF-8.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def event_line(event: SessionEvent) -> bytes:
    """The event as one line of JSON in UTF-8, with a line feed at the end.

    Line breaks and control characters in texts are escaped.
    """
    line: dict[str, object] = {
        "v": LOG_VERSION,
        "ts": _iso(event.ts),
        "session_id": event.session_id,
        "seq": event.seq,
    }
    if event.turn is not None:
        line["turn"] = event.turn
    if event.step is not None:
        line["step"] = event.step
    line["type"] = event.body.type
    meta = to_json(event.body)
    line |= {name: meta.pop(name) for name in _TOP_LEVEL if name in meta}
    if meta:
        line["meta"] = meta
    text = _encode(line)
    if not text.isascii() or "\x7f" in text:
        text = _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return text.encode() + b"\n"


def _iso(ts: float) -> str:
    return datetime.fromtimestamp(ts, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


@dataclass(frozen=True, slots=True)
class Log:
    """The events of a session's log."""

    events: tuple[SessionEvent, ...]
    """The events that could be read, in order."""
    notices: tuple[str, ...]
    """One message per kind of problem with the lines, for the user."""
    last_seq: int
    """The highest sequence number of all lines, including lines of an unknown type."""


def read_lines(lines: Iterable[bytes]) -> Log:
    """Reads a log. Incomplete, damaged and unknown lines are skipped and reported as notices.

    A line without `seq`, as older programs wrote, gets the number after the previous line's.
    """
    events: list[SessionEvent] = []
    notices: Counter[str] = Counter()
    last_seq = 0
    for line in lines:
        fields = _parsed_line(line)
        if fields is None:
            notices["could not be read"] += bool(line.strip())
            continue
        seq = integer(fields.get("seq"))
        seq = last_seq + 1 if seq is None else seq
        notices["are missing"] += max(0, seq - last_seq - 1)
        last_seq = max(last_seq, seq)
        notices["were written by a newer version"] += (integer(fields.get("v")) or 0) > LOG_VERSION
        if kind := EVENT_TYPES.get(str(fields.get("type"))):
            events.append(_event(fields, kind, seq))
        else:
            notices[f"have the unknown type {str(fields.get('type'))[:40]!r}"] += 1
    messages = (f"{count} line(s) {text}" for text, count in notices.items() if count)
    return Log(tuple(events), tuple(messages), last_seq)


def _parsed_line(line: bytes) -> Mapping[str, object] | None:
    try:
        fields = json.loads(line.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
    return cast(Mapping[str, object], fields) if isinstance(fields, dict) else None


def _event(fields: Mapping[str, object], kind: type[EventBody], seq: int) -> SessionEvent:
    meta = fields.get("meta")
    values = {**meta} if isinstance(meta, dict) else {}
    values |= {name: fields[name] for name in _TOP_LEVEL if name in fields}
    return SessionEvent(
        _time(fields.get("ts")),
        AgentSessionId(str(fields.get("session_id", ""))),
        seq,
        from_json(kind, values),
        integer(fields.get("turn")),
        integer(fields.get("step")),
    )


def _time(text: object) -> float:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
