"""uvicorn's HTTP protocol with limits for long headers, slow headers and slow readers."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys

from httptools import HttpParserUpgrade
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kefu.web.server.guard import MAX_HEADER_BYTES, PIECE_BYTES, ConnectionGuard

MAX_HEADERS = 200
"""Maximum number of headers of a request."""

_LAST_DATA_RECEIVED = struct.Struct("=I")
"""The field `tcpi_last_data_recv`, in milliseconds, of Linux' `struct tcp_info`: tcp(7)."""


def guarded_protocol(header_timeout: float, write_timeout: float) -> type[HttpToolsProtocol]:
    """A protocol class with limits; both time-outs are in seconds.

    The protocol closes a connection if the request headers take longer than `header_timeout`, or if
    the client reads nothing for `write_timeout`. Headers over `MAX_HEADER_BYTES` get status 431.
    """
    limits = {"header_timeout": header_timeout, "write_timeout": write_timeout}
    return type("LimitedProtocol", (GuardedProtocol,), limits)


class GuardedProtocol(ConnectionGuard, HttpToolsProtocol):
    """The base of the classes that `guarded_protocol` makes."""

    _waited: float | None = None
    """Seconds that the data of the first request waited until the connection was accepted."""
    _request_line: bytes | None = b""
    """The bytes of the connection's first line; None when the line is complete."""
    _piece = b""
    """The bytes that are being parsed."""
    _in_head = False
    _no_body_since = 0
    """Bytes parsed since the start of the request, or since the last bytes of its body."""
    _progress = False
    """Whether the current piece contains the start of a request or bytes of a body."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._waited = _waited(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        if self._request_line is not None:
            data = self._request_line + data
            line = data.lstrip(b"\r\n")  # empty lines before a request are ignored: RFC 9112, 2.2
            if _incomplete(line) and len(data) <= PIECE_BYTES:
                self._request_line = data
                return
            self._request_line = None
            if line.partition(b"\n")[0].rstrip().endswith(b" HTTP/1.0"):
                self._serve_http10(line)
                return
        self._parse(data)

    def _parse(self, data: bytes) -> None:
        # The parser copies a header with each new piece of it, so an endless header takes
        # quadratic time. A header's length is therefore checked before the next piece is parsed.
        for at in range(0, len(data), PIECE_BYTES):
            if self.refused or self.transport.is_closing():
                return
            self._piece = piece = data[at : at + PIECE_BYTES]
            self._progress = False
            super().data_received(piece)
            self._no_body_since = 0 if self._progress else self._no_body_since + len(piece)
            # The first piece of a request is not counted, so the limit is one piece lower.
            too_long = self._no_body_since > MAX_HEADER_BYTES - PIECE_BYTES
            if too_long or (self._in_head and len(self.headers) > MAX_HEADERS):
                self.refuse_long_headers()
        self._piece = b""

    def _serve_http10(self, data: bytes) -> None:
        """Give the connection to the protocol for HTTP/1.0, as uvicorn does for WebSockets."""
        # Imported here because few clients send HTTP/1.0, and a start need not wait for h11.
        from kefu.web.server.http10 import Http10Protocol

        state = {**self.app_state, "waited": self._waited}
        protocol = Http10Protocol(self.config, self.server_state, state)
        protocol.header_timeout, protocol.write_timeout = self.header_timeout, self.write_timeout
        self.headers_complete()
        self.connections.discard(self)
        self.transport.set_protocol(protocol)
        protocol.connection_made(self.transport)
        protocol.data_received(data)

    def _asks_for_upgrade(self) -> bool:
        return self.parser.should_upgrade() and any(name == b"upgrade" for name, _ in self.headers)

    def _unsupported_upgrade_warning(self) -> None:
        """Serve a request that asks for another protocol without it: RFC 9110, section 7.8.

        Java's client asks for HTTP/2 in each. The parser ends such a request after its headers.
        """
        upgrade = sys.exception()
        if isinstance(upgrade, HttpParserUpgrade) and self._asks_for_upgrade():
            kept = [b"%b: %b\r\n" % one for one in self.headers if one[0] != b"upgrade"]
            line = self.parser.get_method(), self.url
            head = b"%b %b HTTP/1.1\r\n%b\r\n" % (*line, b"".join(kept))
            self._waited = self.scope["state"]["waited"]
            super().data_received(head + self._piece[upgrade.args[0] :])

    def on_body(self, body: bytes) -> None:
        self._progress = True
        super().on_body(body)

    def on_headers_complete(self) -> None:
        if self._asks_for_upgrade():
            return
        self.headers_complete()
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        if not self._asks_for_upgrade():
            super().on_message_complete()

    def on_message_begin(self) -> None:
        # The time-out of the headers starts again with each request on a connection.
        self.await_headers()
        self._in_head = self._progress = True
        super().on_message_begin()
        self.scope["state"]["waited"], self._waited = self._waited, None


def _incomplete(line: bytes) -> bool:
    """Whether the rest of a request line is missing. Bytes that begin no method have no rest."""
    return not line or (line[:1].isalpha() and b"\n" not in line)


def _waited(link: socket.socket) -> float | None:
    """Return the seconds since a socket received its last bytes; None where this is not known.

    An event loop accepts one connection in each round, so the others wait in the kernel's queue,
    which is not visible otherwise.
    """
    if sys.platform != "linux":
        return None
    facts = link.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 56)
    return float(_LAST_DATA_RECEIVED.unpack_from(facts, 52)[0]) / 1000
