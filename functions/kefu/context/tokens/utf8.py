"""Estimates one token per four bytes of UTF-8; `build_llm_messages` uses this estimate."""

from __future__ import annotations

_PIECE = 1 << 14
"""Characters."""


def estimate_message_tokens(text: str) -> int:
    """Estimated tokens: ceil(UTF-8 bytes / 4), so 0 for the empty text.

    A lone surrogate counts 3 bytes, and a pair 4, as in Node's `Buffer.byteLength`.
    """
    return -(-(len(text) if text.isascii() else utf8_length(text)) // 4)


def utf8_length(text: str) -> int:
    """The number of bytes of a text in UTF-8; 3 for a lone surrogate."""
    if text.isascii():
        return len(text)
    try:
        # In pieces, because a copy of a text of many megabytes takes longer than its encoding.
        pieces = range(0, len(text), _PIECE)
        return sum(len(text[at : at + _PIECE].encode()) for at in pieces)
    except UnicodeEncodeError:
        # Decoding joins surrogate pairs. It replaces a lone surrogate by U+FFFD, which has 3 bytes.
        units = text.encode("utf-16-le", "surrogatepass")
        return len(units.decode("utf-16-le", "replace").encode())
