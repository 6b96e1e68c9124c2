"""What the model may do besides talking: one file per tool, one line in `TOOLS`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from kefu.tools.calculate import calculate
from kefu.tools.current_time import current_time
from kefu.tools.function import ToolFunction, tool_of
from kefu.tools.http_get import http_get
from kefu.tools.list_folder import list_folder
from kefu.tools.read_file import read_file
from kefu.tools.tool import Parameters, Tool
from kefu.tools.workplace import Workplace

TOOLS: Mapping[str, ToolFunction] = MappingProxyType(
    {
        function.__name__: function
        for function in (read_file, list_folder, current_time, calculate, http_get)
    }
)


def tools_for(place: Workplace, names: Iterable[str] = TOOLS) -> tuple[Tool, ...]:
    """The tools of these names, at work in this place. Raises KeyError on an unknown name."""
    return tuple(tool_of(TOOLS[name], place) for name in names)


__all__ = ["TOOLS", "Parameters", "Tool", "ToolFunction", "Workplace", "tool_of", "tools_for"]
