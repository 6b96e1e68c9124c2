"""Runs the calls of one answer within their limits of time and number."""

from __future__ import annotations

import asyncio

CALL_SECONDS = 10.0
"""Seconds of one call."""

Task = asyncio.Task[None]
