"""Removes control sequences from text before it is written to a terminal.

Output of models and tools is untrusted. An escape sequence could overwrite earlier text, show a
false address for a link (OSC 8), write to the clipboard (OSC 52) or send input as if the user had
typed it. Bidirectional controls and invisible characters could deceive the reader.
"""

from __future__ import annotations

import re

_MAX_HELD_CHARS = 1024
"""Maximum characters of an incomplete sequence; a longer sequence is shown without its ESC."""

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
    """The text without control sequences and unsafe characters. Line breaks and tabs are kept."""
    return _UNSAFE.sub("", _SEQUENCE.sub("", _BREAK.sub("\n", text)))


def one_line(text: str, most: int) -> str:
    """The clean text on one line, cut to at most `most` characters."""
    return clipped(" ".join(clean(text).split()), most)


def clipped(line: str, most: int) -> str:
    """The line, cut to at most `most` characters; a cut line ends with an ellipsis."""
    return line if len(line) <= most else f"{line[: most - 1]}…"


class Cleaner:
    """Cleans a text that arrives in pieces, also if a sequence is split between two pieces."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """The clean text up to this piece. An incomplete sequence at the end is held back."""
        text = self._held + piece
        # An incomplete sequence starts within the last _HELD characters.
        match = _UNFINISHED.search(text, max(0, len(text) - _MAX_HELD_CHARS))
        at = match.start() if match else len(text) - text.endswith("\r")
        self._held = text[at:]
        return clean(text[:at])

    def end(self) -> str:
        """The text that was held back, cleaned. To be called after the last piece."""
        held, self._held = self._held, ""
        return clean(held)
