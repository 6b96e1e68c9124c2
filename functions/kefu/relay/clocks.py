"""The clock difference between processes that deadlines in a shared store allow for."""

from __future__ import annotations

CLOCK_SLACK = 60.0
"""Seconds by which the clocks of two processes may differ."""
