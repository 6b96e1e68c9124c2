"""Text for a terminal, without what would drive it.

A model's words and a tool's results are anybody's: an escape sequence in them could move the
cursor over what was said, name a link after another address (OSC 8), write to the clipboard
(OSC 52) or answer for the user. Characters that turn the direction of a line, or are never seen,
could do the same to the reader.
"""

from __future__ import annotations

import re

_HELD = 1024
"""Characters an unfinished sequence may have; a longer one is taken for text, less its ESC."""

# ECMA-48: strings (OSC, DCS, SOS, PM, APC) up to BEL or ST, control sequences, other escapes.
_SEQUENCE = re.compile(
    "(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x80-\x9f\n]{0,1024}(?:\x07|\x1b\\\\|\x9c)"
    "|(?:\x1b\\[|\x9b)[0-?]{0,64}[ -/]{0,16}[@-~]"
    "|\x1b[ -/]{0,16}[0-Z\\\\^-~]"
)
_UNFINISHED = re.compile(
    "(?:\x1b(?:[\\]PX^_][^\x07\x1b\x80-\x9f\n]*\x1b?|\\[[0-?]*[ -/]*|[ -/]*)"
    "|[\x9d\x90\x98\x9e\x9f][^\x07\x1b\x80-\x9f\n]*\x1b?|\x9b[0-?]*[ -/]*)\\Z"
)
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff"
    "\U000e0000-\U000e007f]"
)
_BREAK = re.compile("\r\n|[\u2028\u2029]")


def clean(text: str) -> str:
    """The whole text, made harmless; line breaks and tabs stay."""
    return _UNSAFE.sub("", _SEQUENCE.sub("", _BREAK.sub("\n", text)))


def one_line(text: str, most: int) -> str:
    """The same on one line, and shortened if need be."""
    return clipped(" ".join(clean(text).split()), most)


def clipped(line: str, most: int) -> str:
    return line if len(line) <= most else f"{line[: most - 1]}…"


class Cleaner:
    """The same for a text that comes in pieces: no sequence gets through in two halves."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What of the text so far may be shown and was not yet."""
        text = self._held + piece
        # An unfinished one can only be found from an opener in the last characters.
        found = _UNFINISHED.search(text, max(0, len(text) - _HELD))
        at = found.start() if found else len(text) - text.endswith("\r")
        self._held = text[at:]
        return clean(text[:at])

    def end(self) -> str:
        """The rest: nothing more comes."""
        held, self._held = self._held, ""
        return clean(held)
