"""The lengths of a text, and the estimates of its tokens that follow from them."""

from __future__ import annotations

_PIECE_CHARS = 1 << 14
"""Characters."""

# The high byte of a UTF-16 code unit identifies a row of 256 characters. The rows below have only
# Chinese characters. Counting their high bytes is eight times faster than a regular expression.
_HAN_ROWS = bytes([*range(0x34, 0x4D), *range(0x4E, 0xA0), 0xF9, 0xFA])
# Two more rows contain some Chinese characters: the end of Extension A, and the row of high
# surrogates, which planes 2 and 3 share with emoji.
_END_OF_EXTENSION_A = 0x4D
_HIGH_SURROGATES = 0xD8

_HAN_TENTHS = 20
_OTHER_TENTHS = 3


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
        # Decoding joins surrogate pairs, and replaces a lone surrogate by U+FFFD (3 bytes).
        units = text.encode("utf-16-le", "surrogatepass")
        return len(units.decode("utf-16-le", "replace").encode())


def utf16_length(text: str) -> int:
    """Number of UTF-16 code units: 1 per character of the basic plane, 2 per any other.

    Limits in characters are the same in browsers. An emoji counts 2: `utf16_length("😀") == 2`.
    """
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def estimate_chars4(text: str) -> int:
    """Estimated tokens: ceil(UTF-16 code units / 4), a common estimate for English text."""
    return -(-utf16_length(text) // 4)


def estimate_tokens_v1(text: str) -> int:
    """Estimated tokens: ceil(2 * Chinese characters + 0.3 * other characters), as in version 1.

    Characters are code points. Chinese are the Unicode blocks of unified and compatibility
    ideographs, in the basic plane and in planes 2 and 3. Kana, hangul, bopomofo and all punctuation
    are "other". Computed in integer tenths and rounded once, to avoid errors of floating point.
    """
    han = 0
    if not text.isascii():
        rows = text.encode("utf-16-le", "surrogatepass")[1::2]
        han = len(rows) - len(rows.translate(None, _HAN_ROWS))
        if _END_OF_EXTENSION_A in rows:
            han += sum("\u4d00" <= character <= "\u4dbf" for character in text)
        if _HIGH_SURROGATES in rows:
            planes = text.encode("utf-32-le", "surrogatepass")[2::4]
            han += planes.count(2) + planes.count(3)
    return -(-(_HAN_TENTHS * han + _OTHER_TENTHS * (len(text) - han)) // 10)
