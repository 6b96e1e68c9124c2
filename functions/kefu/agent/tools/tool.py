"""The interface between the ReAct loop and a tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

Parameters = Mapping[str, object]
"""The JSON Schema of an object."""

MAX_RESULT_CHARS = 1_000_000
"""Maximum characters of a plain function's result. The loop cuts the result further."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model can call."""

    name: str
    """The name in `tool="…"`: at most 64 letters, digits, `_`, `.` and `-`."""
    description: str
    """Description of the tool and its input, for the model: one sentence."""
    call: Callable[[str], Awaitable[str]]
    """Runs the tool with the input, stripped of white space, and returns the result.

    Raises ToolFailed with a message for the model. The call may be cancelled at any time. The loop
    limits the time and the length of the result."""
    parameters: Parameters | None = None
    """Schema of a JSON input. With parameters, an input that starts with `{` must be valid JSON."""
    idempotent: bool = False
    """Whether the tool may be run again after a failure."""
