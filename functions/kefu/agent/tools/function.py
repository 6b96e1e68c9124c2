"""Makes a tool from a Python function: its signature gives the schema of the input."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Awaitable, Callable, Mapping

from kefu.agent.tools.tool import Tool
from kefu.agent.tools.workplace import Workplace
from kefu.errors import ToolFailed

ToolFunction = Callable[..., Awaitable[str]] | Callable[..., str]
"""`def name(first: str, …) -> str`, with or without `async`.

The first line of its docstring is the description for the model. The function's parameters are the
inputs; each is a `str` or an `int`.

A plain function runs in another process, which is killed after a time-out or an interrupt. A
parameter `folder: Path` receives the working directory. An async function runs on the event loop
and must not block it. The parameter `place: Workplace` receives the workplace.
"""

_KINDS = {"str": ("string", str), "int": ("integer", int)}


def tool_of(function: ToolFunction, place: Workplace) -> Tool:
    """The tool for a function.

    The input is the value of the first parameter alone, or a JSON object with all parameters.
    Raises ValueError for a plain function that another process cannot import.
    """
    parameters = list(inspect.signature(function).parameters.values())
    taken = [p for p in parameters if p.annotation not in ("Path", "Workplace")]
    task = (function.__doc__ or "").partition("\n")[0]
    alone = len(taken) == 1
    return Tool(
        name=function.__name__,
        description=f"{task} Input: {taken[0].name}." if alone else task,
        call=_call(function, place, parameters, taken),
        parameters=None if alone else _schema(taken),
        idempotent=True,
    )


def _call(
    function: ToolFunction,
    place: Workplace,
    parameters: list[inspect.Parameter],
    taken: list[inspect.Parameter],
) -> Callable[[str], Awaitable[str]]:
    places = {p.name: place for p in parameters if p.annotation == "Workplace"}
    folders = {p.name: place.folder for p in parameters if p.annotation == "Path"}
    if inspect.iscoroutinefunction(function):

        async def on_the_loop(text: str) -> str:
            result: str = await function(**places, **folders, **_arguments(text, taken))
            return result

        return on_the_loop

    name = _importable(function)
    if places:
        raise ValueError(f"{name}: only an async function can be given a Workplace")
    paths = {parameter: str(folder) for parameter, folder in folders.items()}

    async def in_a_process(text: str) -> str:
        return await place.processes.run(name, _arguments(text, taken), paths)

    return in_a_process


def _importable(function: ToolFunction) -> str:
    """`module:name` of the function. Raises ValueError if the function cannot be imported."""
    module, name = function.__module__, function.__qualname__
    if module == "__main__" or getattr(sys.modules.get(module), name, None) is not function:
        raise ValueError(
            f"{name} runs in another process: write it at the top of a module that can be "
            "imported, or make it an async function"
        )
    return f"{module}:{name}"


def _schema(parameters: list[inspect.Parameter]) -> Mapping[str, object]:
    described = {p.name: {"type": _KINDS[p.annotation][0]} for p in parameters}
    required = [p.name for p in parameters if p.default is p.empty]
    return {"type": "object", "properties": described, "required": required}


def _arguments(text: str, parameters: list[inspect.Parameter]) -> Mapping[str, object]:
    if not text.startswith("{"):
        return _checked({parameters[0].name: text} if text else {}, parameters)
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        raise ToolFailed("the input begins like JSON, but is none") from None
    return _checked(values if isinstance(values, dict) else {}, parameters)


def _checked(
    values: Mapping[str, object], parameters: list[inspect.Parameter]
) -> Mapping[str, object]:
    names = ", ".join(p.name for p in parameters)
    if unknown := values.keys() - {p.name for p in parameters}:
        raise ToolFailed(f"there is no input called {min(unknown)[:40]}, only: {names}")
    for parameter in parameters:
        kind, python = _KINDS[parameter.annotation]
        if parameter.name not in values:
            if parameter.default is parameter.empty:
                raise ToolFailed(f"{parameter.name} is missing")
        elif type(values[parameter.name]) is not python:
            raise ToolFailed(f"{parameter.name} must be of the type {kind}")
    return values
