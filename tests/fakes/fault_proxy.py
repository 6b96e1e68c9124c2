"""A TCP proxy on loopback that simulates network faults, similar to Toxiproxy.

It forwards bytes of any protocol, so it works for databases and for model servers. It runs in a
thread with its own event loop; `set` may be called from any thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from tests.fakes.running import Running
from tests.fakes.turns import stop_accepting, turns


@dataclass(frozen=True, slots=True)
class Faults:
    """The present faults of the network. All but `down` apply to the target's responses."""

    down: bool = False
    """Connections are refused, those that are open are reset."""
    black_hole: bool = False
    """Everything is accepted, nothing arrives in either direction."""
    latency: float = 0.0
    """Seconds before each piece of an answer."""
    reset_after: int | None = None
    """Bytes of a connection's answers after which it is reset."""
    slow_close: float = 0.0
    """Seconds between the target's end of a connection and the client's."""
    bandwidth: int | None = None
    """Bytes a second."""
    slices: int | None = None
    """Bytes that travel together; the next ones come in a segment of their own."""


class FaultProxy(Running):
    """`with FaultProxy("http://127.0.0.1:8000") as proxy: ... proxy.set(latency=2)`."""

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        assert parts.hostname, target
        assert parts.port, target
        self._scheme = parts.scheme
        self._target = (parts.hostname, parts.port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        # It is bound and never listens: while the proxy is down, no other socket gets its port.
        self._guard = socket.socket()
        self._guard.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._guard.bind(("127.0.0.1", 0))
        self.port: int = self._guard.getsockname()[1]
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.faults = Faults()
        self.connections = 0
        """How many were accepted so far."""

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}"

    def set(
        self,
        *,
        down: bool = False,
        black_hole: bool = False,
        latency: float = 0.0,
        reset_after: int | None = None,
        slow_close: float = 0.0,
        bandwidth: int | None = None,
        slices: int | None = None,
    ) -> None:
        """Replace all faults, for open connections too. Without arguments there are no faults."""
        faults = Faults(down, black_hole, latency, reset_after, slow_close, bandwidth, slices)
        asyncio.run_coroutine_threadsafe(self._apply(faults), self._loop).result(10)

    def start(self) -> Self:
        self._thread.start()
        self.set()
        return self

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
        self._guard.close()

    async def _apply(self, faults: Faults) -> None:
        self.faults = faults
        if faults.down:
            await self._close()
        elif self._server is None:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)

    async def _close(self) -> None:
        if self._server is not None:
            server, self._server = self._server, None
            await stop_accepting(server)
        for writer in list(self._open):
            _reset(writer)

    async def _end(self) -> None:
        await self._close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await turns()  # transports report their end in a later iteration, too

    async def _accept(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._open.add(to_client)
        self.connections += 1
        try:
            await self._carry(client, to_client)
        except* OSError:
            _reset(to_client)  # one side is closed, so close the other
        finally:
            to_client.close()
            self._open.discard(to_client)

    async def _carry(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        target, to_target = await asyncio.open_connection(*self._target)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._ask(client, to_target))
                both.create_task(self._answer(target, to_client))
        finally:
            to_target.transport.abort()

    async def _ask(self, client: asyncio.StreamReader, to_target: asyncio.StreamWriter) -> None:
        while data := await client.read(65536):
            if not self.faults.black_hole:
                to_target.write(data)
                await to_target.drain()
        with contextlib.suppress(OSError):
            to_target.write_eof()

    async def _answer(self, target: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        sent = 0
        while data := await target.read(65536):
            await asyncio.sleep(self.faults.latency)
            while data:
                faults = self.faults
                piece = data[: _size(faults, sent)]
                data = data[len(piece) :]
                if faults.black_hole:
                    continue
                to_client.write(piece)
                await to_client.drain()
                sent += len(piece)
                if faults.reset_after is not None and sent >= faults.reset_after:
                    _reset(to_client)
                    raise ConnectionResetError
                await asyncio.sleep(_pause(faults, len(piece)))
        await asyncio.sleep(self.faults.slow_close)
        to_client.close()


def _size(faults: Faults, sent: int) -> int:
    """The number of bytes to send in one write."""
    sizes = [65536]
    if faults.bandwidth:
        sizes.append(max(1, faults.bandwidth // 50))
    if faults.slices:
        sizes.append(faults.slices)
    if faults.reset_after is not None:
        sizes.append(max(1, faults.reset_after - sent))
    return min(sizes)


def _pause(faults: Faults, sent: int) -> float:
    """Seconds to wait after a write: for the bandwidth, or so that slices are separate segments."""
    if faults.bandwidth:
        return sent / faults.bandwidth
    return 0.001 if faults.slices else 0.0


def _reset(writer: asyncio.StreamWriter) -> None:
    """End a connection with an RST instead of a FIN."""
    with contextlib.suppress(OSError):
        raw: socket.socket = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
