"""The length of a text as in JavaScript, so that limits in characters equal those in browsers."""

from __future__ import annotations


def utf16_length(text: str) -> int:
    """Number of UTF-16 code units: 1 per character of the basic plane, 2 per any other.

    Emoji and rare ideographs count 2: `utf16_length("😀") == 2`.
    """
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def estimate_chars4(text: str) -> int:
    """Estimated tokens: ceil(UTF-16 code units / 4), a common estimate for English text."""
    return -(-utf16_length(text) // 4)
