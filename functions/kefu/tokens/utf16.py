"""The length JavaScript sees. Limits "in characters" count this way in browsers and here alike."""

from __future__ import annotations


def utf16_length(text: str) -> int:
    """UTF-16 code units: 1 per character of the basic plane, 2 per emoji or rare ideograph."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def estimate_chars4(text: str) -> int:
    """ceil(characters / 4): the rule of thumb for English text."""
    return -(-utf16_length(text) // 4)
