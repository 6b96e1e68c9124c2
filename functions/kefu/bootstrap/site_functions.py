"""Loads the Python functions of the site: `python = "module:function"`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, cast

from kefu.sessions.hooks.calls import Calls, HookFailed
from kefu.settings import ConfigurationError, Settings
from kefu.settings.file import find, name_of
from kefu.settings.tool_approval import card_problems
from kefu.settings.tools import ToolTable
from kefu.tools.python import BadFunction, Call, FunctionFailed, SiteFunction, site_function
from kefu.tools.tool import Schema

FUNCTION_SECONDS: Final = 60.0
"""Seconds after which a function is given up, whatever the limits of an answer are."""


class FunctionCalls:
    """Calls the functions of the site as hooks are called: see `kefu.sessions.hooks.calls`."""

    def __init__(self, notice: Callable[[str], None]) -> None:
        """`notice` receives failures, without data of visitors."""
        self._calls = Calls()
        self._notice = notice

    def of(self, tool: str) -> Call:
        async def call(function: Callable[[], object]) -> object:
            try:
                return await self._calls.call(function, (), FUNCTION_SECONDS)
            except HookFailed as failure:
                self._notice(f"the tool {tool} {failure}")
                # The text of a function that was not called begins so.
                was_called = not str(failure).startswith("was not called")
                raise FunctionFailed(str(failure), was_called=was_called) from None

        return call

    async def aclose(self) -> None:
        self._calls.close()


class LoadedFunction(NamedTuple):
    site: SiteFunction
    schema: Schema
    """Of what the model sets."""


def load_function(settings: Settings, name: str, table: ToolTable) -> LoadedFunction:
    """The function of a table. Raises ConfigurationError."""
    try:
        site = site_function(loaded_function(table.python))
    except BadFunction as error:
        raise _wrong(settings, (name, "python"), f"{table.python} {error}") from error
    if unknown := table.bind.keys() - site.properties.keys():
        says = f"{min(unknown)} is no parameter of {table.python}"
        raise _wrong(settings, (name, "bind"), says)
    for key, says in card_problems(table, site.properties):
        raise _wrong(settings, (name, key), says)
    return LoadedFunction(site, _schema(site, table.bind))


def _schema(site: SiteFunction, bind: Mapping[str, str]) -> Schema:
    return {
        "type": "object",
        "properties": {name: one for name, one in site.properties.items() if name not in bind},
        "required": [name for name in site.required if name not in bind],
        "additionalProperties": False,
    }


def loaded_function(place: str) -> Callable[..., object]:
    """The function at `module:function`. Raises BadFunction; its text follows the place."""
    module, _, name = place.partition(":")
    if not module or not name:
        raise BadFunction("must be module:function, such as site_tools:stock")
    try:
        found = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        hint = "; PYTHONPATH=. finds a module in this folder" if error.name == module else ""
        raise BadFunction(f"cannot be loaded: {error}{hint}") from error
    except Exception as error:
        text = str(error).partition("\n")[0]
        raise BadFunction(f"cannot be loaded: {type(error).__name__}: {text}") from error
    if not callable(found):
        raise BadFunction("is no function")
    return cast(Callable[..., object], found)


def _wrong(settings: Settings, keys: tuple[str, str], says: str) -> ConfigurationError:
    file = find(settings.config_file) if settings.config_file else None
    place = f"{file.place(('tools', *keys))}: " if file else ""
    return ConfigurationError(f"{place}{name_of(('tools', *keys))}: {says}")
