"""How long is a text, in tokens: cheap estimates by name, no tokenizer needed."""

from __future__ import annotations

from collections.abc import Callable

from kefu.tokens.cjk import estimate_tokens_v1
from kefu.tokens.utf8 import estimate_message_tokens
from kefu.tokens.utf16 import estimate_chars4, utf16_length

COUNTERS: dict[str, Callable[[str], int]] = {
    "bytes4": estimate_message_tokens,
    "chars4": estimate_chars4,
    "cjk_v1": estimate_tokens_v1,
}
"""Every counter promises: 0 for the empty text, else at least 1; linear time; it never raises."""

__all__ = [
    "COUNTERS",
    "estimate_chars4",
    "estimate_message_tokens",
    "estimate_tokens_v1",
    "utf16_length",
]
