"""Converts dataclasses to JSON objects and back: keys in camelCase, no key for None."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from types import NoneType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from kefu.agent.events.parts import Estimate, Tokens

AnyValue = TypeVar("AnyValue")


@cache
def _fields(kind: Any) -> list[tuple[str, str, Any]]:
    """The name of each field, its name in JSON, and its type without None."""
    hints = get_type_hints(kind)
    return [(f.name, camel(f.name), _without_none(hints[f.name])) for f in fields(kind)]


def _without_none(hint: Any) -> Any:
    options = get_args(hint)
    return options[0] if NoneType in options else hint


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
    for name, key, hint in _fields(cast(Any, kind)):
        if key in source and (content := _read(hint, source[key])) is not None:
            values[name] = content
    return kind(**values)


def _read(hint: Any, value: object) -> object:
    """The value of a field of this type; None if the JSON value has the wrong type."""
    options = get_args(hint)
    if hint in (str, bool, int):
        return value if type(value) is hint else None
    if hint in (Tokens, Estimate):
        return from_json(hint, value) if isinstance(value, dict) else None
    if get_origin(hint) is tuple:
        items = value if isinstance(value, list) else ()
        return tuple(from_json(options[0], item) for item in items if isinstance(item, dict))
    if isinstance(options[0], str):
        return value if isinstance(value, str) and value in options else None
    return value if isinstance(value, dict) else None


def integer(value: object) -> int | None:
    """The value if it is an int and not a bool, else None."""
    return value if type(value) is int else None
