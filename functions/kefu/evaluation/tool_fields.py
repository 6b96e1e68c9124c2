"""Reads what a file of questions says about tools: expected calls, results, answers to cards."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from kefu.evaluation.fields import is_switch, json_value, mapping, switch, text, texts
from kefu.evaluation.source import WrongFile, at_line_of
from kefu.tools.tool import Outcome

EVERY_TOOL = "*"
"""The name for tools without a result of their own."""

Results = Mapping[str, Outcome]
"""The results of calls, by the names of their tools, or for `EVERY_TOOL`."""

Approve = bool | Mapping[str, bool] | None
"""The answer to each card, or by the names of tools; None: no card is answered."""

RESULT_KEYS: Mapping[str, Literal["done", "failed", "unsure"]] = {
    "results": "done",
    "errors": "failed",
    "unsure": "unsure",
}
"""The keys that give results, and the states of the calls."""


class CalledTool(NamedTuple):
    """An expected call. Other arguments may be there, too."""

    name: str
    arguments: Mapping[str, object]


def called(value: object, place: str) -> Sequence[CalledTool] | bool:
    """The calls of `called`: names, or arguments by name. Raises WrongFile."""
    if is_switch(value):
        return switch(value, place)
    found = list[CalledTool]()
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, Mapping):
            found += [_with_arguments(*each, place) for each in _each_call(one)]
        else:
            found.append(CalledTool(text(one, place), {}))
    if not found or not all(one.name for one in found):
        raise WrongFile(f"{place}: is empty")
    return found


def _each_call(calls: Mapping[str, Any]) -> Sequence[tuple[str, object]]:
    several = (
        (name, given if isinstance(given, list) else [given]) for name, given in calls.items()
    )
    return [(name, one) for name, given in several for one in given]


def _with_arguments(name: str, given: object, place: str) -> CalledTool:
    if given and not isinstance(given, Mapping):
        raise WrongFile(f"{place}.{name}: must have its arguments, such as `order_id: 12345`")
    return CalledTool(name, mapping(given or {}, place))


def results_in(given: Mapping[str, Any], place: str) -> Results:
    """The results that a case or a turn gives. Raises WrongFile."""
    found = dict[str, Outcome]()
    for key, state in RESULT_KEYS.items():
        with at_line_of(given, key):
            tools = given.get(key, {})
            if not isinstance(tools, Mapping):
                raise WrongFile(f"{place}: {key}: must be a mapping such as `order_status: Sent.`")
            for name, value in tools.items():
                with at_line_of(tools, name):
                    if name in found:
                        raise WrongFile(f"{place}: {key}: {name} has another result already")
                    found[name] = Outcome(_result(value, f"{place}: {key}.{name}", key), state)
    return found


def _result(value: object, place: str, key: str) -> str:
    """A result as the model reads it: a text, or JSON; errors are texts."""
    if isinstance(value, str) or key != "results":
        return texts(value, place)[0]
    return json.dumps(json_value(value), ensure_ascii=False, separators=(",", ":"))


def approve(value: object, place: str) -> Approve:
    """The answer to cards. Raises WrongFile."""
    if not isinstance(value, Mapping):
        return switch(value, place)
    if not value:
        raise WrongFile(f"{place}: is empty")
    found = dict[str, bool]()
    for name, answer in value.items():
        with at_line_of(value, name):
            found[name] = switch(answer, f"{place}.{name}")
    return found


def is_same(wanted: object, found: object) -> bool:
    """Whether an argument is as wanted: a mapping may have more, a number equals its digits."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            name in found and is_same(one, found[name]) for name, one in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(is_same(*both) for both in zip(wanted, found, strict=True))
        )
    return _plain(wanted) == _plain(found)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
