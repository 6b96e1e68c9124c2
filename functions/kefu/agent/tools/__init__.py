"""The built-in tools: one module per tool, one line in `TOOLS`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from kefu.agent.tools.calculate import calculate
from kefu.agent.tools.current_time import current_time
from kefu.agent.tools.function import ToolFunction, tool_of
from kefu.agent.tools.http_get import http_get
from kefu.agent.tools.list_folder import list_folder
from kefu.agent.tools.read_file import read_file
from kefu.agent.tools.workplace import Workplace
from kefu.tools.tool import Tool

TOOLS: Mapping[str, ToolFunction] = MappingProxyType(
    {
        function.__name__: function
        for function in (read_file, list_folder, current_time, calculate, http_get)
    }
)


def tools_for(place: Workplace, names: Iterable[str] = TOOLS) -> tuple[Tool, ...]:
    """The tools with these names, bound to a workplace. Raises KeyError for an unknown name."""
    return tuple(tool_of(TOOLS[name], place) for name in names)


__all__ = ["TOOLS", "Tool", "ToolFunction", "Workplace", "tool_of", "tools_for"]
