"""What the model may do besides talking."""

from __future__ import annotations

from kefu.tools.tool import Parameters, Tool

__all__ = ["Parameters", "Tool"]
