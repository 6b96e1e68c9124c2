"""Server-sent events: bytes to events and back, incremental, without I/O.

Follows the parsing rules of the HTML Standard, section 9.2.6: lines end in LF, CR or CRLF, one
leading BOM is skipped, an event ends at an empty line, and one that never does is dropped.
"""

from __future__ import annotations

from kefu.lean_typing import NamedTuple

PING = b": ping\n\n"
DONE = b"data: [DONE]\n\n"

_BOM = b"\xef\xbb\xbf"


class Event(NamedTuple):
    data: str
    event: str = "message"


class EventTooLarge(ValueError):
    """One event is longer than the parser may hold."""


def encode(data: str) -> bytes:
    """One event; `data` must be free of line breaks, as JSON on one line is."""
    return b"data: " + data.encode() + b"\n\n"


class Parser:
    """Feed it bytes as they come; it returns the events that are complete.

    Time is linear in the bytes fed, however they are cut; memory is bounded by `max_event` bytes.
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
                self._add(line[6:])
            elif not line:
                self._end(events)
            else:
                self._other(line)
        return events

    def _lines(self, chunk: bytes) -> list[bytes]:
        """The lines that are complete; the rest is held until it is."""
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
            self._size -= self._held  # counted again with its whole line
            self._held = 0
        if self._at_start:
            self._at_start = False
            chunk = chunk.removeprefix(_BOM)
        # bytes.splitlines() knows exactly the three line ends of the standard.
        lines = chunk.splitlines()
        if chunk[-1:] == b"\r":
            self._skip_lf = True
        elif chunk[-1:] != b"\n":
            self._hold(lines.pop())
        return lines

    def _hold(self, part: bytes) -> None:
        self._open_line.append(part)
        self._held += len(part)
        self._grow(len(part))

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > self._max_event:
            raise EventTooLarge(f"an event is longer than {self._max_event} bytes")

    def _add(self, data: bytes) -> None:
        self._grow(len(data))
        self._data.append(data)

    def _end(self, events: list[Event]) -> None:
        if self._data:
            data = b"\n".join(self._data).decode("utf-8", "replace")
            events.append(Event(data, self._name))
            self._data.clear()
        self._name = "message"
        self._size = 0

    def _other(self, line: bytes) -> None:
        """Comments and unknown fields are ignored, as the standard has it."""
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._add(value)
        elif name == b"event":
            self._name = value.decode("utf-8", "replace") or "message"
