"""The HTTP/1.1 connections of the scripted upstream, and a record of who closed them and when."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.fakes.behaviours import Behaviour


@dataclass(slots=True)
class Call:
    """One request that reached the upstream. Times are `time.monotonic()`."""

    key: str
    """The bearer token, "" without one."""
    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    raw_body: bytes
    body: Any
    asked_at: float
    sent: int = 0
    """Bytes that the kernel took."""
    parts_at: list[float] = field(default_factory=list)
    """When each part of the body went out."""
    answered_at: float | None = None
    """When the behaviour had done everything it does."""
    closed_at: float | None = None
    """When the peer closed the connection under this call."""

    @property
    def question(self) -> str:
        """The text of the last user message."""
        messages = self.body.get("messages", []) if isinstance(self.body, dict) else []
        texts = [m["content"] for m in messages if m.get("role") == "user"]
        if texts and isinstance(texts[-1], list):  # with images
            return str(texts[-1][0].get("text", ""))
        return texts[-1] if texts and isinstance(texts[-1], str) else ""


class Upstream(Protocol):
    """The methods of the server that a connection uses."""

    def opened(self, connection: Connection) -> None: ...

    def closed(self, connection: Connection) -> None: ...

    def choose(self, call: Call) -> Behaviour:
        """Record the call, and return its behaviour."""
        ...


class Connection(asyncio.Protocol):
    """One TCP connection with its requests, and a record of who closed it and when."""

    def __init__(self, upstream: Upstream, send_buffer: int | None) -> None:
        self._upstream = upstream
        self._send_buffer = send_buffer
        self._buffer = bytearray()
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._call: Call | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        # With high water 0, a write ends when the kernel has accepted the bytes.
        transport.set_write_buffer_limits(0)
        link: socket.socket = transport.get_extra_info("socket")
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._send_buffer:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._send_buffer)
        self._upstream.opened(self)
        self._task = asyncio.get_running_loop().create_task(self._serve())

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._arrived.set()

    def eof_received(self) -> bool:
        self._peer_left()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._peer_left()
        self._upstream.closed(self)
        self._task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _peer_left(self) -> None:
        if self._call is not None and self._call.closed_at is None:
            self._call.closed_at = time.monotonic()

    async def _serve(self) -> None:
        with contextlib.suppress(ConnectionError):
            while not self._transport.is_closing():
                call = await self._request()
                self._call = call
                await self._upstream.choose(call)(self)
                call.answered_at = time.monotonic()

    def close_if_idle(self) -> None:
        if self._call is None or self._call.answered_at is not None:
            self.cut()

    async def _until(self, enough: Callable[[], bool]) -> None:
        while not enough():
            self._arrived.clear()
            await self._arrived.wait()

    async def _request(self) -> Call:
        await self._until(lambda: b"\r\n\r\n" in self._buffer)
        head, _, rest = bytes(self._buffer).partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        method, path, _ = first.split(" ", 2)
        self._buffer[:] = rest
        body = await self._request_body(headers)
        try:
            parsed = json.loads(body)
        except ValueError:
            parsed = None
        key = headers.get("authorization", "").removeprefix("Bearer ")
        return Call(key, method, path, headers, body, parsed, time.monotonic())

    async def _request_body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return await self._take(int(headers.get("content-length", "0")))
        body = b""
        while True:
            await self._until(lambda: b"\r\n" in self._buffer)
            line = await self._take(self._buffer.index(b"\r\n") + 2)
            size = int(line, 16)
            body += (await self._take(size + 2))[:size]
            if size == 0:
                return body

    async def _take(self, size: int) -> bytes:
        await self._until(lambda: len(self._buffer) >= size)
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    # Implements `behaviours.Exchange`.

    @property
    def body(self) -> Any:
        return self._call.body if self._call else None

    async def send(self, octets: bytes) -> None:
        self._transport.write(octets)
        await self._writable.wait()
        if self._transport.is_closing():
            raise ConnectionResetError
        if self._call is not None:
            self._call.sent += len(octets)

    async def head(self, status: int, headers: Mapping[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} Scripted", "Transfer-Encoding: chunked"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        await self.send("\r\n".join([*lines, "", ""]).encode("latin-1"))

    async def part(self, octets: bytes) -> None:
        if octets:
            if self._call is not None:
                self._call.parts_at.append(time.monotonic())
            await self.send(b"%x\r\n%b\r\n" % (len(octets), octets))

    async def end(self) -> None:
        await self.send(b"0\r\n\r\n")

    async def silence(self) -> None:
        await asyncio.Event().wait()

    def reset(self) -> None:
        self._call = None
        link: socket.socket = self._transport.get_extra_info("socket")
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def cut(self) -> None:
        self._call = None
        self._transport.close()
