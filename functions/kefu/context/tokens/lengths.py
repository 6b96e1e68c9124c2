"""The lengths of a text in UTF-8 and in UTF-16, and estimates of a token for four units."""

from __future__ import annotations

_PIECE_CHARS = 1 << 14
"""Characters."""


def estimate_message_tokens(text: str) -> int:
    """Estimated tokens: ceil(UTF-8 bytes / 4), so 0 for the empty text.

    A lone surrogate counts 3 bytes, and a pair 4, as in Node's `Buffer.byteLength`.
    `build_llm_messages` uses this estimate.
    """
    return -(-(len(text) if text.isascii() else utf8_length(text)) // 4)


def utf8_length(text: str) -> int:
    """The number of bytes of a text in UTF-8; 3 for a lone surrogate."""
    if text.isascii():
        return len(text)
    try:
        # In pieces, because a copy of a text of many megabytes takes longer than its encoding.
        pieces = range(0, len(text), _PIECE_CHARS)
        return sum(len(text[at : at + _PIECE_CHARS].encode()) for at in pieces)
    except UnicodeEncodeError:
        # Decoding joins surrogate pairs. It replaces a lone surrogate by U+FFFD, which has 3 bytes.
        units = text.encode("utf-16-le", "surrogatepass")
        return len(units.decode("utf-16-le", "replace").encode())


def utf16_length(text: str) -> int:
    """Number of UTF-16 code units: 1 per character of the basic plane, 2 per any other.

    Limits in characters equal those in browsers. An emoji counts 2: `utf16_length("😀") == 2`.
    """
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def estimate_chars4(text: str) -> int:
    """Estimated tokens: ceil(UTF-16 code units / 4), a common estimate for English text."""
    return -(-utf16_length(text) // 4)
