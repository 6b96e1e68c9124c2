"""Values as JSON objects and back: names in camelCase, nothing for what is None or empty."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache, partial
from types import NoneType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from kefu.events.parts import Estimate, Tokens
from kefu.lean_typing import NamedTuple

AnyValue = TypeVar("AnyValue")

Reader = Callable[[object], object]
"""Gives the value, or None if it is of another type."""


class Field(NamedTuple):
    name: str
    key: str
    """Its name in JSON."""
    read: Reader


@cache
def _fields(kind: Any) -> tuple[Field, ...]:
    hints = get_type_hints(kind)
    return tuple(Field(f.name, camel(f.name), _reader(hints[f.name])) for f in fields(kind))


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def to_json(value: object) -> dict[str, object]:
    if isinstance(value, Tokens):
        sums = {"prompt": value.prompt, "completion": value.completion, "total": value.total}
        return {**sums, "source": value.source} if value.source else {**sums}
    written: dict[str, object] = {}
    for name, key, _ in _fields(cast(Any, type(value))):
        content = getattr(value, name)
        if content is None or content == ():
            continue
        if isinstance(content, tuple):
            content = [to_json(item) for item in content]
        elif isinstance(content, Tokens | Estimate):
            content = to_json(content)
        written[key] = content
    return written


def from_json(kind: type[AnyValue], found: Mapping[str, object]) -> AnyValue:
    """A value of its fields as far as they are there and right; else their defaults."""
    given = {}
    for name, key, read in _fields(cast(Any, kind)):
        if key in found and (content := read(found[key])) is not None:
            given[name] = content
    return kind(**given)


def _reader(hint: Any) -> Reader:
    """Of a field's type: text, a number, a choice, an object, a part or a tuple of parts."""
    options = [option for option in get_args(hint) if option is not NoneType]
    if NoneType in get_args(hint):
        return _reader(options[0])
    if hint in _PLAIN:
        return _PLAIN[hint]
    if hint in (Tokens, Estimate):
        return partial(_part, hint)
    if get_origin(hint) is tuple:
        return partial(_parts, options[0])
    return partial(_choice, options) if isinstance(options[0], str) else _object


def whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _truth(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _object(value: object) -> object:
    return value if isinstance(value, dict) else None


def _choice(choices: list[object], value: object) -> object:
    return value if isinstance(value, str) and value in choices else None


def _part(kind: type[object], value: object) -> object:
    return from_json(kind, value) if isinstance(value, dict) else None


def _parts(kind: type[object], value: object) -> object:
    if not isinstance(value, list):
        return None
    return tuple(from_json(kind, item) for item in value if isinstance(item, dict))


_PLAIN: Mapping[object, Reader] = {str: _text, bool: _truth, int: whole}
