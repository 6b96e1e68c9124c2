"""Writes events to a stream as JSON lines while they happen, for the option `--json`."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from kefu.agent.events import SessionEvent, event_line
from kefu.errors import HistoryUnavailable


class StreamSink:
    """Writes each event as one JSON line. The sink does not close the stream."""

    def __init__(self, stream: BinaryIO, gone: Callable[[], None]) -> None:
        """`gone` is called when the reader has closed the pipe. Later events are discarded."""
        self._stream = stream
        self._gone = gone
        self._broken_pipe = False

    def append(self, event: SessionEvent) -> None:
        if self._broken_pipe:
            return
        try:
            self._stream.write(event_line(event))
            self._stream.flush()
        except BrokenPipeError:
            self._broken_pipe = True
            self._gone()
        except OSError as error:
            raise HistoryUnavailable(
                f"the events could not be written: {error.strerror}"
            ) from error

    async def flush(self) -> None:
        """Do nothing: `append` flushes every line."""
