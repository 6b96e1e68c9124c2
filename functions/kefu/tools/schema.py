"""Checks the arguments of a call by a part of JSON Schema (2020-12), without a library.

The libraries that were tried either fetch a `$ref` from the network or let a pattern stop the event
loop. Here a `$ref` has no meaning, and only patterns run whose time is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kefu.tools.schema_words import OWN, At, Keyword, Rules, are_some, listed

MAX_DEPTH = 16
"""Schemas inside each other that are checked."""
MAX_CHECKS = 20_000
"""Pairs of a schema and a value that are checked in one call."""

_ANNOTATIONS = (
    *("$comment", "$defs", "$id", "$schema", "default", "definitions", "deprecated"),
    *("description", "example", "examples", "readOnly", "title", "writeOnly"),
)


def problems(schema: object, value: object) -> list[str]:
    """What is wrong with a value of JSON, in sentences for the model; empty if it is valid.

    Keywords that `unknown` names are ignored, so that no valid value is refused.
    """
    try:
        return list(_problems(schema, value, At("", 0, iter(range(MAX_CHECKS)))))
    except (_TooMuch, RecursionError):
        return ["The arguments are too large to be checked. Send fewer values."]


def unknown(schema: object) -> list[str]:
    """The keywords of a schema that are not checked, each with its place: `items.format`.

    This includes keywords whose value has a wrong shape, and schemas that are nested too deeply.
    """
    return list(_unknown(schema, "", 0))


class _TooMuch(Exception):
    """There are more values and schemas than are checked."""


def _problems(schema: object, value: Any, at: At) -> Iterator[str]:
    if next(at.checks, None) is None:
        raise _TooMuch
    if schema is False:
        yield f"{at.name} is not allowed. Leave it out."
    if not isinstance(schema, Mapping) or at.depth >= MAX_DEPTH:
        return
    if "$ref" in schema:  # before revision 2019-09 it replaces the keywords beside it
        return
    inside = at._replace(depth=at.depth + 1)
    for word, rule in schema.items():
        known = _KEYWORDS.get(word)
        if known and known.fits(rule):
            yield from known.check(schema, value, inside)


def _unknown(schema: object, path: str, depth: int) -> Iterator[str]:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping) or depth >= MAX_DEPTH:
        yield path or "the schema"
        return
    for word, rule in schema.items():
        place = f"{path}.{word}" if path else str(word)
        known = _KEYWORDS.get(word)
        if known is None or not known.fits(rule):
            if word not in _ANNOTATIONS and not str(word).startswith("x-"):
                yield place
        else:
            for key, part in known.parts(rule):
                yield from _unknown(part, place + key, depth + 1)


def _properties(rules: Rules, value: Any, at: At) -> Iterator[str]:
    for name, one in rules["properties"].items() if isinstance(value, dict) else ():
        if name in value:
            yield from _problems(one, value[name], at.member(name))


def _additional(rules: Rules, value: Any, at: At) -> Iterator[str]:
    known = rules.get("properties", {})
    if not isinstance(value, dict) or "patternProperties" in rules or not _is_object(known):
        return
    for name, one in value.items():
        if name in known:
            continue
        if rules["additionalProperties"] is False:
            yield f"{at.member(name).name} is not a parameter. There are: {listed(known)}."
        else:
            yield from _problems(rules["additionalProperties"], one, at.member(name))


def _items(rules: Rules, value: Any, at: At) -> Iterator[str]:
    if isinstance(value, list) and "prefixItems" not in rules:
        for number, one in enumerate(value):
            yield from _problems(rules["items"], one, at.element(number))


def _all_of(rules: Rules, value: Any, at: At) -> Iterator[str]:
    for one in rules["allOf"]:
        yield from _problems(one, value, at)


def _any_of(rules: Rules, value: Any, at: At) -> Iterator[str]:
    yield from _no_form([list(_problems(one, value, at)) for one in rules["anyOf"]], at)


def _one_of(rules: Rules, value: Any, at: At) -> Iterator[str]:
    found = [list(_problems(one, value, at)) for one in rules["oneOf"]]
    yield from _no_form(found, at)
    # A form with keywords that are not checked may seem to fit.
    if found.count([]) > 1 and not any(map(unknown, rules["oneOf"])):
        yield f"{at.name} fits more than one form, of which only one is allowed."


def _no_form(found: list[list[str]], at: At) -> Iterator[str]:
    if all(found):
        nearest: list[str] = min(found, key=len)
        yield f"{at.name} has none of the allowed forms. For the nearest: {' '.join(nearest)}"


def _is_object(rule: object) -> bool:
    return isinstance(rule, Mapping)


def _is_schema(rule: object) -> bool:
    return isinstance(rule, Mapping | bool)


def _forms(rule: list[object]) -> Iterator[tuple[str, object]]:
    for number, one in enumerate(rule):
        yield f"[{number}]", one


_KEYWORDS: Mapping[str, Keyword] = {
    **OWN,
    "properties": Keyword(
        _properties, _is_object, lambda rule: ((f".{name}", one) for name, one in rule.items())
    ),
    "additionalProperties": Keyword(_additional, _is_schema, lambda rule: [("", rule)]),
    "items": Keyword(_items, _is_schema, lambda rule: [("", rule)]),
    "allOf": Keyword(_all_of, are_some, _forms),
    "anyOf": Keyword(_any_of, are_some, _forms),
    "oneOf": Keyword(_one_of, are_some, _forms),
}
