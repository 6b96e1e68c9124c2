"""The keywords of JSON Schema that look at a value without the schemas of its parts."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kefu.tools.pattern import simple_pattern

MAX_SHOWN = 200
"""Characters of values or names in a sentence."""

Rules = Mapping[str, Any]
"""A schema that is no boolean."""


class At(NamedTuple):
    """The place of a value in the arguments."""

    path: str
    depth: int
    checks: Iterator[int]
    """Ends with the last check that is allowed."""

    @property
    def name(self) -> str:
        return _cut(self.path) or "The value"

    def member(self, name: str) -> At:
        return self._replace(path=f"{self.path}.{name}" if self.path else name)

    def element(self, at: int) -> At:
        return self._replace(path=f"{self.path}[{at}]")


Check = Callable[[Rules, Any, At], Iterator[str]]
"""The problems of a value by one keyword of a schema, in sentences for the model."""


class Keyword(NamedTuple):
    check: Check
    fits: Callable[[Any], bool]
    """Whether the value of the keyword has the right shape."""
    parts: Callable[[Any], Iterable[tuple[str, object]]] = lambda _: ()
    """The schemas in the value of the keyword, each with its place."""


def is_number(value: Any) -> bool:
    # Python reads infinity and NaN, which are not JSON.
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)


def _is_integer(value: Any) -> bool:
    return is_number(value) and value % 1 == 0


_TYPES: Mapping[object, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": _is_integer,
    "number": is_number,
}


def _cut(text: str) -> str:
    # A name that the model wrote can have half a surrogate pair, which no request can contain.
    text = text.encode(errors="replace").decode()
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def listed(values: Iterable[object]) -> str:
    """The values as JSON, shortened."""
    return _cut(", ".join(json.dumps(one, ensure_ascii=False) for one in values))


def _canonical(value: object) -> object:
    """Equal for equal values of JSON: 1 is 1.0, and true is not 1."""
    match value:
        case bool():
            return ("boolean", value)
        case dict():
            return frozenset((name, _canonical(one)) for name, one in value.items())
        case list() | tuple():
            return ("array", *map(_canonical, value))
        case _:
            return value


def _type(rules: Rules, value: Any, at: At) -> Iterator[str]:
    names = _names(rules["type"])
    if not any(_TYPES[name](value) for name in names):
        found = next((name for name, is_one in _TYPES.items() if is_one(value)), "not finite")
        yield f"{at.name} must be of type {' or '.join(names)}, but is {found}."


def _names(types: Any) -> Any:
    return [types] if isinstance(types, str) else types


def _enum(rules: Rules, value: Any, at: At) -> Iterator[str]:
    if _canonical(value) not in map(_canonical, rules["enum"]):
        yield f"{at.name} must be one of {listed(rules['enum'])}."


def _const(rules: Rules, value: Any, at: At) -> Iterator[str]:
    if _canonical(value) != _canonical(rules["const"]):
        yield f"{at.name} must be {listed([rules['const']])}."


def _required(rules: Rules, value: Any, at: At) -> Iterator[str]:
    for name in rules["required"] if isinstance(value, dict) else ():
        if name not in value:
            yield f"{at.member(name).name} is missing. It is required."


def _unique(rules: Rules, value: Any, at: At) -> Iterator[str]:
    if isinstance(value, list) and rules["uniqueItems"]:
        different = {_canonical(one) for one in value}
        if len(different) < len(value):
            yield f"{at.name} must not have equal items."


def _pattern(rules: Rules, value: Any, at: At) -> Iterator[str]:
    pattern = simple_pattern(rules["pattern"])
    if pattern and isinstance(value, str) and not pattern.is_in(value):
        yield f"{at.name} must match the pattern {rules['pattern']}."


def _limit(word: str, type: str, holds: Callable[[Any, Any], bool], says: str) -> Keyword:
    of_number = type == "number"

    def check(rules: Rules, value: Any, at: At) -> Iterator[str]:
        if _TYPES[type](value):
            size = value if of_number else len(value)
            if not holds(size, rules[word]):
                yield f"{at.name} must {says.format(rules[word])}."

    return Keyword(check, is_number if of_number else _is_count)


def _is_count(rule: Any) -> bool:
    return _is_integer(rule) and rule >= 0


def are_some(rule: Any) -> bool:
    return isinstance(rule, list | tuple) and len(rule) > 0


def _are_types(rule: Any) -> bool:
    names = _names(rule)
    return are_some(names) and all(isinstance(one, str) and one in _TYPES for one in names)


def _are_names(rule: Any) -> bool:
    return isinstance(rule, list | tuple) and all(isinstance(one, str) for one in rule)


def _is_simple(rule: Any) -> bool:
    return isinstance(rule, str) and simple_pattern(rule) is not None


_LIMITS = (
    ("minimum", "number", operator.ge, "be at least {}"),
    ("maximum", "number", operator.le, "be at most {}"),
    ("exclusiveMinimum", "number", operator.gt, "be more than {}"),
    ("exclusiveMaximum", "number", operator.lt, "be less than {}"),
    ("minLength", "string", operator.ge, "have at least {} characters"),
    ("maxLength", "string", operator.le, "have at most {} characters"),
    ("minItems", "array", operator.ge, "have at least {} items"),
    ("maxItems", "array", operator.le, "have at most {} items"),
)

OWN: Mapping[str, Keyword] = {
    "type": Keyword(_type, _are_types),
    "enum": Keyword(_enum, are_some),
    "const": Keyword(_const, lambda _: True),
    "required": Keyword(_required, _are_names),
    "uniqueItems": Keyword(_unique, lambda rule: isinstance(rule, bool)),
    "pattern": Keyword(_pattern, _is_simple),
    **{word: _limit(word, type, holds, says) for word, type, holds, says in _LIMITS},
}
"""By their names."""
