"""Parses and encodes server-sent events incrementally, without I/O.

Follows the parsing rules of the HTML Standard, section 9.2.6. Lines end in LF, CR or CRLF, and one
leading BOM is skipped. An empty line ends an event; an event without an empty line is dropped.
"""

from __future__ import annotations

from typing import NamedTuple

PING = b": ping\n\n"
DONE = b"data: [DONE]\n\n"

_BOM = b"\xef\xbb\xbf"


class Event(NamedTuple):
    data: str
    event: str = "message"


class EventTooLarge(ValueError):
    """An event is longer than the parser's limit."""


def encode(data: str) -> bytes:
    """One event as bytes. `data` must not contain line breaks; one-line JSON has none."""
    return b"data: " + data.encode() + b"\n\n"


class Parser:
    """An incremental parser: `feed` takes bytes and returns the events that they complete.

    The time is linear in the number of bytes, for every chunk size. An incomplete event takes at
    most `max_event` bytes of memory; a longer event raises EventTooLarge.
    """

    def __init__(self, max_event: int = 1 << 20) -> None:
        self._max_event = max_event
        self._open_line: list[bytes] = []
        self._data: list[bytes] = []
        self._name = "message"
        self._size = 0
        self._held = 0
        self._at_start = True
        self._skip_lf = False

    def feed(self, chunk: bytes) -> list[Event]:
        events: list[Event] = []
        for line in self._lines(chunk):
            if line[:6] == b"data: ":
                self._add(line[6:], self._data)
            elif line:
                self._other(line)
            else:
                if self._data:
                    data = b"\n".join(self._data).decode("utf-8", "replace")
                    events.append(Event(data, self._name))
                    self._data.clear()
                self._name = "message"
                self._size = 0
        return events

    def _lines(self, chunk: bytes) -> list[bytes]:
        """The complete lines in `chunk`; an incomplete last line is held for the next call."""
        if self._skip_lf and chunk:
            self._skip_lf = False
            chunk = chunk.removeprefix(b"\n")
        if b"\n" not in chunk and b"\r" not in chunk:
            if chunk:
                self._hold(chunk)
            return []
        if self._open_line:
            chunk = b"".join(self._open_line) + chunk
            self._open_line.clear()
            self._size -= self._held  # the complete line is counted below
            self._held = 0
        if self._at_start:
            self._at_start = False
            chunk = chunk.removeprefix(_BOM)
        # bytes.splitlines() splits at exactly the three line ends of the standard.
        lines = chunk.splitlines()
        if chunk[-1:] == b"\r":
            self._skip_lf = True
        elif chunk[-1:] != b"\n":
            self._hold(lines.pop())
        return lines

    def _hold(self, part: bytes) -> None:
        self._held += len(part)
        self._add(part, self._open_line)

    def _add(self, part: bytes, parts: list[bytes]) -> None:
        self._size += len(part)
        if self._size > self._max_event:
            raise EventTooLarge(f"an event is longer than {self._max_event} bytes")
        parts.append(part)

    def _other(self, line: bytes) -> None:
        """Handle a line that is not `data: …`; comments and unknown fields are ignored."""
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._add(value, self._data)
        elif name == b"event":
            self._name = value.decode("utf-8", "replace") or "message"
