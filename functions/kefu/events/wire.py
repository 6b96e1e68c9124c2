"""Events as lines of JSON, and back. Reading never raises: what cannot be read is a notice."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from types import UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from kefu.events.envelope import Event, SessionId
from kefu.events.parts import Estimate, Tokens
from kefu.events.values import Body

VERSION = 1

AnyValue = TypeVar("AnyValue")

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
    meta = _object(event.body)
    line |= {name: meta.pop(name) for name in _BESIDE_META if name in meta}
    if meta:
        line["meta"] = meta
    text = _encode(line)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode() + b"\n"


def _iso(ts: float) -> str:
    return datetime.fromtimestamp(ts, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


@cache
def _names(kind: Any) -> tuple[tuple[str, str], ...]:
    """Each field and its name in JSON."""
    return tuple((field.name, camel(field.name)) for field in fields(kind))


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def _object(value: object) -> dict[str, object]:
    written: dict[str, object] = {}
    for name, key in _names(cast(Any, type(value))):
        content = getattr(value, name)
        if content is None or content == ():
            continue
        if isinstance(content, tuple):
            content = [_object(item) for item in content]
        elif is_dataclass(content):
            content = _object(content)
        written[key] = content
    if isinstance(value, Tokens):
        written = {"prompt": value.prompt, "completion": value.completion, "total": value.total}
        written |= {"source": value.source} if value.source else {}
    return written


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
    notices: dict[str, int] = {}
    last = 0

    def notice(text: str, count: int = 1) -> None:
        notices[text] = notices.get(text, 0) + count

    for line in lines:
        if not line.strip():
            continue
        found = _parse(line)
        if found is None:
            notice("could not be read")
            continue
        seq = _whole(found.get("seq"))
        if seq is not None and seq > last + 1:
            notice("are missing", seq - last - 1)
        last = last + 1 if seq is None else max(last, seq)
        if (_whole(found.get("v")) or 0) > VERSION:
            notice("were written by a newer version")
        kind = BODIES.get(str(found.get("type")))
        if kind is None:
            notice(f"have the unknown type {str(found.get('type'))[:40]!r}")
            continue
        events.append(_event(found, kind, last if seq is None else seq))
    told = tuple(f"{count} line(s) {text}" for text, count in notices.items())
    return Log(tuple(events), told, last)


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
        _build(kind, values),
        _whole(found.get("turn")),
        _whole(found.get("step")),
    )


def _time(text: object) -> float:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _build(kind: type[AnyValue], found: Mapping[str, object]) -> AnyValue:
    """A value of its fields as far as they are there and right; else their defaults."""
    hints = _hints(cast(Any, kind))
    given = {}
    for name, key in _names(cast(Any, kind)):
        if key in found and (read := _read(hints[name], found[key])) is not None:
            given[name] = read
    return kind(**given)


_NESTED: tuple[type, ...] = (Tokens, Estimate)


def _read(hint: Any, value: object) -> object:
    """The value if it is of this type, else None."""
    options = get_args(hint) if get_origin(hint) is UnionType or _is_optional(hint) else (hint,)
    for option in options:
        if option in _NESTED and isinstance(value, dict):
            return _build(cast(type[object], option), value)
        if get_origin(option) is tuple and isinstance(value, list):
            item = get_args(option)[0]
            return tuple(_build(item, part) for part in value if isinstance(part, dict))
        if _is_plain(option, value):
            return value
    return None


def _is_optional(hint: Any) -> bool:
    return type(None) in get_args(hint)


_PLAIN: Mapping[object, Callable[[object], bool]] = {
    str: lambda value: isinstance(value, str),
    bool: lambda value: isinstance(value, bool),
    int: lambda value: _whole(value) is not None,
}


def _is_plain(option: Any, value: object) -> bool:
    if option in _PLAIN:
        return _PLAIN[option](value)
    if get_origin(option) is not None and get_args(option) and isinstance(value, str):
        return value in get_args(option)  # a Literal
    return isinstance(value, dict) and get_origin(option) is not tuple and option is not type(None)
