"""uvicorn's HTTP protocol with the two time limits it lacks: for slow headers and slow readers."""

from __future__ import annotations

import asyncio
import socket

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_SEND_BUFFER = 65536
"""Bytes the kernel holds for a peer. Left to itself it takes megabytes, and a thousand visitors
who do not read would hold gigabytes; nor could a slow one be told from one that reads nothing."""


def guarded_protocol(header_timeout: float, write_timeout: float) -> type[HttpToolsProtocol]:
    """A protocol class that drops a connection whose request head takes over `header_timeout`
    seconds, or whose peer reads nothing of what is sent for `write_timeout` seconds.
    """

    class GuardedProtocol(HttpToolsProtocol):
        _head: asyncio.TimerHandle | None = None
        _write: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            link = transport.get_extra_info("socket")
            link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
            self._head = self.loop.call_later(header_timeout, transport.abort)

        def on_headers_complete(self) -> None:
            _stop(self._head)
            super().on_headers_complete()

        def on_message_begin(self) -> None:
            # Another request on the same connection has the same time for its head.
            _stop(self._head)
            self._head = self.loop.call_later(header_timeout, self.transport.abort)
            super().on_message_begin()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._await_reader(self.transport.get_write_buffer_size())

        def _await_reader(self, unread: int) -> None:
            """Slow is fine; what is dropped has read nothing at all."""

            def look() -> None:
                left = self.transport.get_write_buffer_size()
                if left < unread:
                    self._await_reader(left)
                else:
                    self.transport.abort()

            self._write = self.loop.call_later(write_timeout, look)

        def resume_writing(self) -> None:
            _stop(self._write)
            super().resume_writing()

        def connection_lost(self, exc: Exception | None) -> None:
            _stop(self._head)
            _stop(self._write)
            super().connection_lost(exc)

    return GuardedProtocol


def _stop(timer: asyncio.TimerHandle | None) -> None:
    if timer:
        timer.cancel()
