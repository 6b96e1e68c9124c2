"""Time limits and error responses that the protocols for HTTP/1.1 and HTTP/1.0 share."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from kefu.errors import HeadersTooLarge, InvalidRequest, KefuError

MAX_HEADER_BYTES = 64 * 1024
"""Maximum bytes of request line and headers, and of the trailers after a chunked body."""

PIECE_BYTES = 16 * 1024
"""Bytes that are parsed between two checks of the length of the headers."""

_SEND_BUFFER = 65536
"""Size of the kernel's send buffer per connection, in bytes.

The default grows to megabytes, so a thousand clients that read nothing would occupy gigabytes. A
large buffer also hides whether a client is slow or reads nothing."""

_LINGER_SECONDS = 1.0
"""Seconds from an error response to closing the connection, so that the client can read it."""


class ConnectionGuard(asyncio.Protocol):
    """A mixin for uvicorn's HTTP protocols: it closes connections that take too long.

    `header_timeout` is the time for the headers of a request, `write_timeout` that in which a
    client must read something; both are in seconds.
    """

    header_timeout: float
    write_timeout: float

    # The attributes of uvicorn's protocols that are used here.
    cycle: Any
    logger: logging.Logger
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport

    refused = False
    """Whether the connection has received an error response, so that later bytes are ignored."""

    _head: asyncio.TimerHandle | None = None
    _write: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        link = transport.get_extra_info("socket")
        link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        self.await_headers()

    def await_headers(self) -> None:
        """Close the connection unless `headers_complete` is called within `header_timeout`."""
        self.headers_complete()
        self._head = self.loop.call_later(self.header_timeout, self.transport.abort)

    def headers_complete(self) -> None:
        """Stop the time-out of the headers."""
        _stop(self._head)

    def refuse_long_headers(self) -> None:
        self.logger.warning("Request headers over %d bytes: 431", MAX_HEADER_BYTES)
        self._refuse(_TOO_LARGE)

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are no HTTP request, in the shape of all errors."""
        self._refuse(_MALFORMED)

    def _refuse(self, answer: bytes) -> None:
        self.refused = True
        if self.cycle and not self.cycle.response_complete:
            # The connection is sending another response, so no error response can be sent.
            self.transport.abort()
            return
        self.transport.write(answer)
        self.transport.write_eof()
        _stop(self._head)
        self._head = self.loop.call_later(_LINGER_SECONDS, self.transport.abort)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_reader(self.transport.get_write_buffer_size())

    def _await_reader(self, unread: int) -> None:
        """Close the connection unless the client reads something within `write_timeout`."""

        def check_progress() -> None:
            remaining = self.transport.get_write_buffer_size()
            if remaining < unread:
                self._await_reader(remaining)
            else:
                self.transport.abort()

        self._write = self.loop.call_later(self.write_timeout, check_progress)

    def resume_writing(self) -> None:
        _stop(self._write)
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        _stop(self._head)
        _stop(self._write)
        super().connection_lost(exc)


def _response(error: KefuError) -> bytes:
    body = json.dumps(error.body()).encode()
    head = (
        b"content-type: application/json\r\n"
        b"content-length: %d\r\n"
        b"connection: close\r\n\r\n" % len(body)
    )
    return STATUS_LINE[error.status] + head + body


_TOO_LARGE = _response(
    HeadersTooLarge(f"The request's headers are longer than {MAX_HEADER_BYTES // 1024} KiB.")
)
_MALFORMED = _response(InvalidRequest("The request is not valid HTTP."))


def _stop(timer: asyncio.TimerHandle | None) -> None:
    if timer:
        timer.cancel()
