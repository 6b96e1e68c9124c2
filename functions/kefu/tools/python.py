"""Makes a tool from a typed Python function of the site.

The schema of its arguments comes from the annotations, its description from the docstring. Only
types that JSON has are possible, so that each argument is checked before a call.
"""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from kefu.tools.tool import Arguments, Effect, Outcome, Run, Visitor

VISIT, KEY = "visit", "idempotency_key"
"""Parameters that Kefu sets: the `Visitor`, and a text that each try of a write has in common."""

_TYPES: Mapping[object, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_KNOWN = "str, int, float, bool, Literal, list of these, or one of these | None"


class BadFunction(ValueError):
    """A function cannot be a tool; the message says why, for the owner."""


class FunctionFailed(Exception):
    """A call failed; the message has no data of visitors."""

    def __init__(self, reason: str, *, was_called: bool) -> None:
        super().__init__(reason)
        self.was_called = was_called


class SiteFunction(NamedTuple):
    """A function with what its signature says."""

    function: Callable[..., object]
    description: str
    properties: Mapping[str, Mapping[str, object]]
    """The JSON Schema of each parameter, without those that Kefu sets."""
    required: tuple[str, ...]
    nullable: frozenset[str]
    """Parameters that are None if they are left out."""
    set_by_kefu: frozenset[str]
    """Those of `visit` and `idempotency_key` that the function has."""


Call = Callable[[Callable[[], object]], Awaitable[object]]
"""Calls a function that may block, or that is `async`. Raises FunctionFailed."""


def site_function(
    function: Callable[..., object], *, set_by_kefu: Collection[str] = (VISIT, KEY)
) -> SiteFunction:
    """`set_by_kefu`: names of parameters that the model does not set. Raises BadFunction."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise BadFunction("must return its result, not yield it")
    try:
        parameters = inspect.signature(function).parameters
        hints = get_type_hints(function)
    except (TypeError, ValueError, NameError, AttributeError) as error:
        raise BadFunction(f"has a signature that cannot be read: {error}") from None
    description = inspect.getdoc(function) or ""
    if not description:
        raise BadFunction("has no docstring, which says to the model what the tool does")
    own = [one for one in parameters.values() if one.name not in set_by_kefu]
    nullable, required, properties = set[str](), list[str](), dict[str, Mapping[str, object]]()
    for one in own:
        if one.kind not in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY):
            raise BadFunction(f"has the parameter {one}, which has no name for the model")
        plain, is_optional = _without_none(hints.get(one.name))
        properties[one.name] = _schema(one.name, plain)
        if one.default is one.empty and is_optional:
            nullable.add(one.name)
        elif one.default is one.empty:
            required.append(one.name)
    given = frozenset(set_by_kefu) & parameters.keys()
    return SiteFunction(
        function, description, properties, tuple(required), frozenset(nullable), given
    )


def _without_none(hint: object) -> tuple[object, bool]:
    """The type without `| None`, and whether it had it."""
    if get_origin(hint) not in (Union, types.UnionType):
        return hint, False
    others = [one for one in get_args(hint) if one is not type(None)]
    if len(others) != 1:
        return hint, False
    return others[0], True


def _schema(name: str, hint: object) -> Mapping[str, object]:
    """Raises BadFunction."""
    if kind := _TYPES.get(hint):
        return {"type": kind}
    if get_origin(hint) is Literal:
        values = list(get_args(hint))
        kinds = {_TYPES.get(type(one)) for one in values}
        if len(kinds) == 1 and None not in kinds:
            return {"type": kinds.pop(), "enum": values}
    if get_origin(hint) is list:
        return {"type": "array", "items": _schema(name, *get_args(hint))}
    raise BadFunction(f"must annotate {name} with {_KNOWN}")


def function_run(site: SiteFunction, call: Call, effect: Effect) -> Run:
    """The function that carries out a call.

    After an exception nobody knows whether a write was carried out.
    """

    async def run(arguments: Arguments, visitor: Visitor, key: str) -> Outcome:
        ours = {VISIT: visitor, KEY: key}
        given = {
            **dict.fromkeys(site.nullable),
            **{name: whole(site.properties.get(name), one) for name, one in arguments.items()},
            **{name: ours[name] for name in site.set_by_kefu},
        }
        try:
            value = await call(partial(site.function, **given))
        except FunctionFailed as failure:
            unsure = failure.was_called and effect == "write"
            text = "The tool failed."
            if unsure:
                return Outcome(f"{text} It is not known whether this was carried out.", "unsure")
            return Outcome(text, "failed")
        return _outcome(value, effect)

    return run


def whole(schema: Mapping[str, Any] | None, value: object) -> object:
    """A whole number as an int, for an argument with this schema: JSON does not tell 3.0 from 3."""
    if schema and schema["type"] == "array" and isinstance(value, list):
        return [whole(schema["items"], one) for one in value]
    is_whole = schema and schema["type"] == "integer" and isinstance(value, float)
    return int(value) if is_whole else value  # type: ignore[call-overload]


def _outcome(value: object, effect: Effect) -> Outcome:
    if value is None:
        return Outcome("Done.")
    if isinstance(value, str):
        return Outcome(value.encode(errors="replace").decode())
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        # A write was carried out, whatever it returned.
        state: Literal["done", "failed"] = "done" if effect == "write" else "failed"
        return Outcome(f"The tool returned {type(value).__name__}, which is not JSON.", state)
    return Outcome(text.encode(errors="replace").decode())
