"""What a tool is to the loop that calls it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

Parameters = Mapping[str, object]
"""A JSON Schema of an object."""


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    """Letters, digits, `_`, `.` and `-`, at most 64: what the model writes into `tool="…"`."""
    description: str
    """One sentence for the model: what it does, and what its input is."""
    call: Callable[[str], Awaitable[str]]
    """Gets the input as the model wrote it, trimmed. Raises ToolFailed with a sentence for the
    model. May be cancelled at any time; time and length of the result are limited by the loop."""
    parameters: Parameters | None = None
    """Where given, an input that starts with `{` is JSON, and reaches the tool only if it is."""
    idempotent: bool = False
    """Whether running it twice does no more than once, so that it may be tried again."""
