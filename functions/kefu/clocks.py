"""What every process may expect of the others' clocks."""

from __future__ import annotations

CLOCK_SLACK = 60.0
"""Seconds by which the clocks of two instances may differ."""
