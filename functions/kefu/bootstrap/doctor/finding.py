"""The finding of a check of `kefu doctor`."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Finding(NamedTuple):
    message: str
    """What is wrong, in one or two sentences."""
    fix: str
    """A command that corrects it, or an instruction."""
    level: Literal["problem", "note"] = "problem"
    """A note does not change the exit code."""
