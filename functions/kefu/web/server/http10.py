"""HTTP/1.0, which nginx speaks to its upstreams by default: answers end with the connection.

uvicorn's protocol on httptools sends chunked answers, which HTTP/1.0 does not know (RFC 9112,
section 6.1). Uvicorn on h11 sends them without a framing, but is slower.
"""

from __future__ import annotations

from uvicorn.protocols.http.h11_impl import H11Protocol

from kefu.web.server.guard import MAX_HEADER_BYTES, PIECE_BYTES, ConnectionGuard


class Http10Protocol(ConnectionGuard, H11Protocol):
    """Serves one request, then closes the connection."""

    _received = 0
    """Bytes received before the headers were complete."""

    def data_received(self, data: bytes) -> None:
        # h11 checks the length of headers only while they are incomplete.
        for at in range(0, len(data), PIECE_BYTES):
            if self.refused or self.transport.is_closing():
                return
            piece = data[at : at + PIECE_BYTES]
            if self.cycle is None:
                self._received += len(piece)
            super().data_received(piece)
            if self.cycle is not None:
                self.headers_complete()

    def send_400_response(self, msg: str) -> None:
        if self.cycle is None and self._received > MAX_HEADER_BYTES:
            self.refuse_long_headers()
        else:
            super().send_400_response(msg)
