"""How long is a text, in tokens: cheap estimates and exact counts, by name."""

from __future__ import annotations

from kefu.tokens.calibrated import estimate_calibrated
from kefu.tokens.cjk import estimate_tokens_v1
from kefu.tokens.counter import COUNTERS, Counter, counter
from kefu.tokens.utf8 import estimate_message_tokens
from kefu.tokens.utf16 import estimate_chars4, utf16_length

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
