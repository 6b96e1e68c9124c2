"""A client that misbehaves: half a body, single bytes, no reading, early disconnects.

It reads and writes only when a test calls a method, so only the socket's buffers hold data.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class RawResponse:
    status: int
    headers: Mapping[str, str]
    """Names in lower case; of a repeated one, the values joined with ", "."""
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def request(
    path: str = "/api/chat",
    body: bytes | Any = b"",
    *,
    method: str = "POST",
    headers: Mapping[str, str] | tuple[tuple[str, str], ...] = (),
    length: int | None = None,
) -> bytes:
    """The bytes of a request. A body that is not bytes is sent as JSON; `length` may be wrong."""
    octets = body if isinstance(body, bytes) else json.dumps(body).encode()
    pairs = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
    names = {name.lower() for name, _ in pairs}
    if "host" not in names:
        pairs.insert(0, ("Host", "127.0.0.1"))
    if method == "POST" and "content-type" not in names:
        pairs.append(("Content-Type", "application/json"))
    if "transfer-encoding" not in names:
        pairs.append(("Content-Length", str(len(octets) if length is None else length)))
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in pairs)]
    return "\r\n".join([*lines, "", ""]).encode() + octets


class RawClient:
    """One TCP connection. `source` is its local address (any 127.x.y.z)."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self.received = b""

    @classmethod
    async def connect(
        cls, url: str, *, source: str = "127.0.0.1", receive_buffer: int | None = None
    ) -> Self:
        parts = urlsplit(url)
        link = socket.socket()
        link.setblocking(False)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if receive_buffer:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        try:
            link.bind((source, 0))
            await asyncio.get_running_loop().sock_connect(link, (parts.hostname, parts.port))
        except OSError:
            link.close()
            raise
        return cls(link)

    async def send(self, octets: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._link, octets)

    async def drip(self, octets: bytes, *, delay: float) -> int:
        """Send a byte every `delay` seconds until the peer closes. Returns the number of accepted
        bytes.
        """
        for count, one in enumerate(octets):
            try:
                await self.send(bytes([one]))
                if await self.closed(timeout=delay):
                    return count
            except ConnectionError:
                return count
        return len(octets)

    async def read(self, timeout: float = 20.0) -> bytes:
        """Read some bytes; b"" at the end of the connection. Raises TimeoutError."""
        async with asyncio.timeout(timeout):
            try:
                octets = await asyncio.get_running_loop().sock_recv(self._link, 65536)
            except ConnectionError:
                octets = b""
        self.received += octets
        return octets

    async def until(self, what: bytes, timeout: float = 20.0) -> bool:
        """Read until these bytes were received. Returns False if the connection ended first."""
        async with asyncio.timeout(timeout):
            while what not in self.received:
                if not await self.read(timeout):
                    return False
        return True

    async def closed(self, timeout: float) -> bool:
        """Whether the peer closes the connection within this time. Received data is kept."""
        try:
            async with asyncio.timeout(timeout):
                while await self.read(timeout):
                    pass
        except TimeoutError:
            return False
        return True

    async def response(self, timeout: float = 20.0) -> RawResponse:
        """Read one response. A chunked body is returned with its framing."""
        await self.until(b"\r\n\r\n", timeout)
        head, _, _ = self.received.partition(b"\r\n\r\n")
        assert head, "closed without a response"
        first, *lines = head.decode("latin-1").split("\r\n")
        headers: dict[str, str] = {}
        for name, _, value in (line.partition(":") for line in lines):
            known = headers.get(name.lower())
            headers[name.lower()] = f"{known}, {value.strip()}" if known else value.strip()
        if headers.get("transfer-encoding") == "chunked":
            await self.until(b"\r\n0\r\n\r\n", timeout)
            return RawResponse(int(first.split(" ")[1]), headers, self.received[len(head) + 4 :])
        end = len(head) + 4 + int(headers.get("content-length", 0))
        async with asyncio.timeout(timeout):
            while len(self.received) < end and await self.read(timeout):
                pass
        return RawResponse(int(first.split(" ")[1]), headers, self.received[len(head) + 4 : end])

    def close(self) -> None:
        self._link.close()

    def reset(self) -> None:
        self._link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._link.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


async def exchange(url: str, octets: bytes, **options: Any) -> RawResponse:
    """Send these bytes and read one response."""
    async with await RawClient.connect(url, **options) as client:
        await client.send(octets)
        return await client.response()
