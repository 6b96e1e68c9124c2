"""Converts dataclasses to JSON objects and back: keys in camelCase, no key for None."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache, partial
from types import NoneType
from typing import Any, NamedTuple, TypeVar, cast, get_args, get_origin, get_type_hints

from kefu.agent.events.parts import Estimate, Tokens

AnyValue = TypeVar("AnyValue")

Reader = Callable[[object], object]
"""Returns the value for a field, or None if the JSON value has the wrong type."""


class Field(NamedTuple):
    name: str
    key: str
    """The name in JSON."""
    read: Reader


@cache
def _fields(kind: Any) -> tuple[Field, ...]:
    hints = get_type_hints(kind)
    return tuple(Field(f.name, camel(f.name), _reader(hints[f.name])) for f in fields(kind))


def camel(name: str) -> str:
    """`snake_case` as `camelCase`."""
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def to_json(value: object) -> dict[str, object]:
    """The JSON object of a dataclass. Fields that are None or an empty tuple are left out."""
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


def from_json(kind: type[AnyValue], source: Mapping[str, object]) -> AnyValue:
    """The dataclass from a JSON object. A missing field or a wrong type gives the default."""
    values = {}
    for name, key, read in _fields(cast(Any, kind)):
        if key in source and (content := read(source[key])) is not None:
            values[name] = content
    return kind(**values)


def _reader(hint: Any) -> Reader:
    """The reader for a type annotation: a scalar, a literal, an object, or nested dataclasses."""
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


def integer(value: object) -> int | None:
    """The value if it is an int and not a bool, else None."""
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


_PLAIN: Mapping[object, Reader] = {str: _text, bool: _truth, int: integer}
