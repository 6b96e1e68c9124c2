"""Counts the tokens of a text: cheap estimates and exact counts, selected by name."""

from __future__ import annotations

from kefu.context.tokens.calibrated import estimate_calibrated
from kefu.context.tokens.counter import COUNTERS, Counter, counter
from kefu.context.tokens.lengths import (
    estimate_chars4,
    estimate_message_tokens,
    estimate_tokens_v1,
    utf16_length,
)

__all__ = [
    "COUNTERS",
    "Counter",
    "counter",
    "estimate_calibrated",
    "estimate_chars4",
    "estimate_message_tokens",
    "estimate_tokens_v1",
    "utf16_length",
]
