"""Events as lines of JSON, and back. Reading never raises: what cannot be read is a notice."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast, get_args

from kefu.events.envelope import Event, SessionId
from kefu.events.fields import from_json, to_json, whole
from kefu.events.values import Body

VERSION = 1

BODIES: dict[str, type[Body]] = {body.type: body for body in get_args(Body)}

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode

_BESIDE_META = ("content", "role")
# What JSON lets through and a terminal, a line reader or UTF-8 does not.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def event_line(event: Event) -> bytes:
    """One line of UTF-8, its end included. Whatever the texts hold, it is one line."""
    line: dict[str, object] = {
        "v": VERSION,
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
    line |= {name: meta.pop(name) for name in _BESIDE_META if name in meta}
    if meta:
        line["meta"] = meta
    text = _encode(line)
    if not text.isascii() or "\x7f" in text:
        text = _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return text.encode() + b"\n"


def _iso(ts: float) -> str:
    return datetime.fromtimestamp(ts, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


@dataclass(frozen=True, slots=True)
class Log:
    events: tuple[Event, ...]
    notices: tuple[str, ...]
    """One sentence for each kind of thing that could not be read, for a person."""
    last_seq: int
    """Of any line, also of those that were not understood."""


def read_lines(lines: Iterable[bytes]) -> Log:
    """The events of a log, in order. What is torn, damaged or newer is left out, with a notice.

    A line without `seq`, as older programs wrote them, follows the one before it.
    """
    events: list[Event] = []
    notices: Counter[str] = Counter()
    last = 0
    for line in lines:
        found = _parse(line)
        if found is None:
            notices["could not be read"] += bool(line.strip())
            continue
        seq = whole(found.get("seq"))
        seq = last + 1 if seq is None else seq
        notices["are missing"] += max(0, seq - last - 1)
        last = max(last, seq)
        notices["were written by a newer version"] += (whole(found.get("v")) or 0) > VERSION
        if kind := BODIES.get(str(found.get("type"))):
            events.append(_event(found, kind, seq))
        else:
            notices[f"have the unknown type {str(found.get('type'))[:40]!r}"] += 1
    told = (f"{count} line(s) {text}" for text, count in notices.items() if count)
    return Log(tuple(events), tuple(told), last)


def _parse(line: bytes) -> Mapping[str, object] | None:
    try:
        found = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return cast(Mapping[str, object], found) if isinstance(found, dict) else None


def _event(found: Mapping[str, object], kind: type[Body], seq: int) -> Event:
    meta = found.get("meta")
    values = {**meta} if isinstance(meta, dict) else {}
    values |= {name: found[name] for name in _BESIDE_META if name in found}
    return Event(
        _time(found.get("ts")),
        SessionId(str(found.get("session_id", ""))),
        seq,
        from_json(kind, values),
        whole(found.get("turn")),
        whole(found.get("step")),
    )


def _time(text: object) -> float:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
