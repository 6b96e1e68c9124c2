"""Makes a tool from a Python function: its signature gives the schema of the arguments."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable

from kefu.agent.tools.workplace import Workplace
from kefu.errors import ToolFailed
from kefu.tools.python import site_function, whole
from kefu.tools.tool import Arguments, Outcome, Tool, Visitor

ToolFunction = Callable[..., Awaitable[str]] | Callable[..., str]
"""`def name(first: str, …) -> str`, with or without `async`.

The first line of its docstring is the description for the model. The function's parameters are the
arguments, of the types in `kefu.tools.python`.

A plain function runs in another process, which is killed after a time-out or an interrupt. A
parameter `folder: Path` receives the working directory. An async function runs on the event loop
and must not block it. The parameter `place: Workplace` receives the workplace.
"""

_PLACE, _FOLDER = "place", "folder"


def tool_of(function: ToolFunction, place: Workplace | None = None) -> Tool:
    """The tool for a function; only an async one that asks for no place needs none.

    Raises ValueError for a plain function that another process cannot import, and for parameters
    of other types.
    """
    call = _call(function, place)
    site = site_function(function, set_by_kefu=(_PLACE, _FOLDER))
    description = site.description.partition("\n")[0]
    if len(site.properties) == 1:
        description = f"{description} Input: {next(iter(site.properties))}."
    schema = {
        "type": "object",
        "properties": site.properties,
        "required": list(site.required),
        "additionalProperties": False,
    }

    async def run(arguments: Arguments, _visitor: Visitor, _key: str) -> Outcome:
        given = {name: whole(site.properties.get(name), one) for name, one in arguments.items()}
        try:
            return Outcome(await call({**dict.fromkeys(site.nullable), **given}))
        except ToolFailed as error:
            return Outcome(str(error), "failed")
        except Exception as error:  # noqa: BLE001 - a tool may be foreign code
            # The text of a foreign exception may be secret, so the model does not receive it.
            return Outcome(f"The tool failed: {type(error).__name__}.", "failed")

    return Tool(function.__name__, description, schema, run, idempotent=True)


def _call(function: ToolFunction, place: Workplace | None) -> Callable[[Arguments], Awaitable[str]]:
    names = inspect.signature(function).parameters
    places = {_PLACE: place} if _PLACE in names else {}
    folders = {_FOLDER: place.folder} if place and _FOLDER in names else {}
    if inspect.iscoroutinefunction(function):

        async def on_the_loop(arguments: Arguments) -> str:
            result: str = await function(**places, **folders, **arguments)
            return result

        return on_the_loop

    name = _importable(function)
    if places:
        raise ValueError(f"{name}: only an async function can be given a Workplace")
    if place is None:
        raise ValueError(f"{name} runs in another process, which a Workplace has")
    processes, paths = place.processes, {one: str(folder) for one, folder in folders.items()}

    async def in_a_process(arguments: Arguments) -> str:
        return await processes.run(name, arguments, paths)

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
