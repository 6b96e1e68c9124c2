"""A typed function with a docstring becomes what the loop calls."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping

from kefu.errors import ToolFailed
from kefu.tools.tool import Tool
from kefu.tools.workplace import Workplace

ToolFunction = Callable[..., Awaitable[str]]
"""`async def name(first: str, …) -> str`: what it does is its docstring's first line; what it takes
are its parameters, each `str` or `int`. One that asks for a `place: Workplace` is given it."""

_KINDS = {"str": ("string", str), "int": ("integer", int)}


def tool_of(function: ToolFunction, place: Workplace) -> Tool:
    """The model may write the first parameter's value alone, or all of them as a JSON object."""
    parameters = list(inspect.signature(function).parameters.values())
    given = {p.name: place for p in parameters if p.annotation == "Workplace"}
    parameters = [p for p in parameters if p.name not in given]

    async def call(text: str) -> str:
        return await function(**given, **_arguments(text, parameters))

    task = (function.__doc__ or "").partition("\n")[0]
    alone = len(parameters) == 1
    return Tool(
        name=function.__name__,
        description=f"{task} Input: {parameters[0].name}." if alone else task,
        call=call,
        parameters=None if alone else _schema(parameters),
        idempotent=True,
    )


def _schema(parameters: list[inspect.Parameter]) -> Mapping[str, object]:
    described = {p.name: {"type": _KINDS[p.annotation][0]} for p in parameters}
    required = [p.name for p in parameters if p.default is p.empty]
    return {"type": "object", "properties": described, "required": required}


def _arguments(text: str, parameters: list[inspect.Parameter]) -> Mapping[str, object]:
    if not text.startswith("{"):
        return _checked({parameters[0].name: text} if text else {}, parameters)
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise ToolFailed("the input begins like JSON, but is none") from None
    return _checked(given if isinstance(given, dict) else {}, parameters)


def _checked(
    given: Mapping[str, object], parameters: list[inspect.Parameter]
) -> Mapping[str, object]:
    names = ", ".join(p.name for p in parameters)
    if unknown := given.keys() - {p.name for p in parameters}:
        raise ToolFailed(f"there is no input called {min(unknown)[:40]}, only: {names}")
    for parameter in parameters:
        kind, python = _KINDS[parameter.annotation]
        if parameter.name not in given:
            if parameter.default is parameter.empty:
                raise ToolFailed(f"{parameter.name} is missing")
        elif type(given[parameter.name]) is not python:
            raise ToolFailed(f"{parameter.name} must be of the type {kind}")
    return given
