"""Events on a stream, as they happen: `--json`."""

from __future__ import annotations

from collections.abc import Callable

from kefu.errors import HistoryUnavailable
from kefu.events import Event, event_line
from kefu.lean_typing import Protocol


class ByteStream(Protocol):
    """A part of `io.RawIOBase` and its like, such as `sys.stdout.buffer`."""

    def write(self, data: bytes, /) -> object: ...

    def flush(self) -> object: ...


class StreamSink:
    """The lines of a log, written to a stream that is somebody else's to close."""

    def __init__(self, stream: ByteStream, gone: Callable[[], None]) -> None:
        """`gone` is called when the stream's reader has left; from then on nothing is written."""
        self._stream = stream
        self._gone = gone
        self._left = False

    def append(self, event: Event) -> None:
        if self._left:
            return
        try:
            self._stream.write(event_line(event))
            self._stream.flush()
        except BrokenPipeError:
            self._left = True
            self._gone()
        except OSError as error:
            raise HistoryUnavailable(
                f"the events could not be written: {error.strerror}"
            ) from error

    async def flush(self) -> None:
        """Nothing is held back."""
