"""Decodes the text of a page or a file in the order of the HTML standard: byte order mark, HTTP
header, `meta`, valid UTF-8, and then a guess.

https://html.spec.whatwg.org/multipage/parsing.html#determining-the-character-encoding
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

PRESCANNED_BYTES = 1024
"""Bytes in which the standard looks for `meta`."""

_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_NAMED = re.compile(
    rb"<(?:meta\s[^>]*?charset|\?xml\s[^>]*?encoding)\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE
)

# The standard reads names such as `ascii` as larger encodings.
# https://encoding.spec.whatwg.org/#names-and-labels
_LARGER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "cp950": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
}
# Python has other codecs that must not be named by a page, such as `unicode_escape`.
_OF_THE_WEB = re.compile(
    r"utf-8|utf-16-[bl]e|gb18030|big5hkscs|euc_jp|iso2022_jp|cp(?:125\d|866|874|932|949)"
    r"|iso8859-\d+|koi8-[ru]|mac-(?:roman|cyrillic)"
)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_CERTAIN_CHARS = 4
"""Characters of several bytes. So many valid sequences of UTF-8 are no accident."""

_SOUND_CHARS = 10
"""Characters beyond ASCII for each damaged character, in a text whose encoding is believed."""


class Decoded(NamedTuple):
    text: str
    remark: str = ""
    """A remark for the report: why the text may be wrong."""
    codec: str = "utf-8"
    """Python's name of the encoding."""


def decoded(data: bytes, charset: str = "", *, is_html: bool = False) -> Decoded | None:
    """Decode a text. `charset`: the name in the HTTP header. None for bytes that are no text."""
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return _replaced(data[len(mark) :], codec)
    # ASCII in UTF-16 is valid UTF-8, with a zero beside each character.
    may_be_utf8 = data.count(b"\0") * _SOUND_CHARS <= len(data)
    as_utf8 = _strictly(data, "utf-8") if may_be_utf8 else None
    for label, codec in _named(data, charset, is_html=is_html):
        if codec != "utf-8" and as_utf8 and _beyond_ascii(as_utf8) >= _CERTAIN_CHARS:
            return Decoded(as_utf8, f"is UTF-8, though it says {label}")
        if (text := _strictly(data, codec)) is not None:
            return Decoded(text, codec=codec)
        if found := _sound(data, codec):
            return found
    if as_utf8 is not None:
        return Decoded(as_utf8)
    return (_sound(data, "utf-8") if may_be_utf8 else None) or _guessed(data)


def _named(data: bytes, charset: str, *, is_html: bool) -> list[tuple[str, str]]:
    """The names that the text has for its encoding, with their codecs, best first."""
    found = [(charset, _codec(charset))]
    if is_html and (named := _NAMED.search(_COMMENT.sub(b"", data[:PRESCANNED_BYTES]))):
        label = named[1].decode("ascii")
        codec = _codec(label)
        found.append((label, "utf-8" if codec.startswith("utf-16") else codec))
    return [(label, codec) for label, codec in found if codec]


def _codec(label: str) -> str:
    """Python's codec for a name; empty if the web has no such encoding."""
    try:
        name = codecs.lookup(label.strip().lower().removeprefix("x-")).name
    except (LookupError, ValueError):
        return ""
    name = _LARGER.get(name, name)
    return name if _OF_THE_WEB.fullmatch(name) else ""


def _strictly(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        return None


def _replaced(data: bytes, codec: str) -> Decoded:
    text = data.decode(codec, "replace")
    bad = text.count("\ufffd")
    if bad and _strictly(data, codec) is None:
        remark = f"{bad} characters are not {codec}, and are shown as \ufffd"
        return Decoded(text, remark, codec)
    return Decoded(text, codec=codec)


def _sound(data: bytes, codec: str) -> Decoded | None:
    """The text, if only a few characters of it are damaged."""
    found = _replaced(data, codec)
    damaged = found.text.count("\ufffd")
    return found if damaged * _SOUND_CHARS <= _beyond_ascii(found.text) else None


def _beyond_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))


def _guessed(data: bytes) -> Decoded | None:
    import chardet  # rarely needed

    era = chardet.EncodingEra.MODERN_WEB
    found = chardet.detect(data, encoding_era=era, prefer_superset=True, compat_names=False)
    if (codec := found["encoding"]) is None:
        return None
    text, damage, _ = _replaced(data, codec)
    guess = f"names no encoding that fits, and was read as {codec}"
    return Decoded(text, f"{guess}; {damage}" if damage else guess, codec)
