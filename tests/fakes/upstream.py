"""A model server on loopback that follows the script of a test, and records its requests.

It implements HTTP itself, so that it can send invalid bytes. It runs in a thread with its own event
loop; `script`, `calls` and the other methods may be called from any thread.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from tests.fakes.behaviours import Behaviour, answer
from tests.fakes.running import Running
from tests.fakes.turns import stop_accepting, turns
from tests.fakes.upstream_connection import Call, Connection


@dataclass(slots=True)
class _Rule:
    key: str
    asking: str
    behaviours: tuple[Behaviour, ...]
    used: int = 0

    def matches(self, call: Call) -> bool:
        return self.key in ("*", call.key) and self.asking in call.question

    def next(self) -> Behaviour:
        """The next behaviour; the last one is repeated."""
        behaviour = self.behaviours[min(self.used, len(self.behaviours) - 1)]
        self.used += 1
        return behaviour


class ScriptedUpstream(Running):
    """`with ScriptedUpstream() as upstream:` starts a server on a free port."""

    def __init__(
        self,
        *,
        listener: socket.socket | None = None,
        tls: ssl.SSLContext | None = None,
        send_buffer: int | None = None,
    ) -> None:
        self._socket = listener or reserved_port()
        self._tls = tls
        self._send_buffer = send_buffer
        self._lock = threading.Lock()
        self._rules: dict[tuple[str, str], _Rule] = {}
        self._journal: list[Call] = []
        self._open: set[Connection] = set()
        self._started = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve()), name="upstream", daemon=True
        )
        self.connections = 0
        """How many were begun; with TLS: hellos, so that refused certificates count."""
        if tls is not None:
            tls.sni_callback = self._hello
        scheme = "https" if tls else "http"
        self.base_url = f"{scheme}://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    @property
    def journal(self) -> list[Call]:
        with self._lock:
            return list(self._journal)

    def calls(self, asking: str = "") -> list[Call]:
        """The calls whose question contains `asking`, in their order."""
        return [call for call in self.journal if asking in call.question]

    def keys(self, asking: str = "") -> list[str]:
        return [call.key for call in self.calls(asking)]

    def script(self, key: str, *behaviours: Behaviour, asking: str = "") -> None:
        """Set the behaviours for requests with `key` ("*": any) whose question contains `asking`.

        They are used in their order, and the last one is repeated. The most specific rule applies.
        """
        with self._lock:
            self._rules[key, asking] = _Rule(key, asking, behaviours)

    async def until(self, holds: Callable[[], bool], timeout: float = 20.0) -> bool:
        """Wait until `holds()` is true. Returns False after the time-out."""
        end = time.monotonic() + timeout
        while not holds():
            if time.monotonic() > end:
                return False
            await asyncio.sleep(0.005)
        return True

    async def asked(self, asking: str = "", count: int = 1, timeout: float = 20.0) -> Call:
        """Wait for the call number `count` with this question, and return it."""
        assert await self.until(lambda: len(self.calls(asking)) >= count, timeout), "no such call"
        return self.calls(asking)[count - 1]

    def start(self) -> Self:
        self._thread.start()
        assert self._started.wait(20)
        return self

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(5)
        self._socket.close()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        server = await self._loop.create_server(
            lambda: Connection(self, self._send_buffer), sock=self._socket, ssl=self._tls
        )
        self._started.set()
        await self._stopped.wait()
        await stop_accepting(server)
        for connection in list(self._open):
            connection.cut()
        await turns()

    def close_idle(self) -> None:
        """Close the idle connections, as servers do after some time."""
        for connection in [*self._open]:
            self._loop.call_soon_threadsafe(connection.close_if_idle)

    @property
    def open_connections(self) -> int:
        return len(self._open)

    def opened(self, connection: Connection) -> None:
        self._open.add(connection)
        if self._tls is None:
            self.connections += 1

    def closed(self, connection: Connection) -> None:
        self._open.discard(connection)

    def _hello(self, *_: object) -> None:
        self.connections += 1

    def choose(self, call: Call) -> Behaviour:
        with self._lock:
            self._journal.append(call)
            found = [rule for rule in self._rules.values() if rule.matches(call)]
            found.sort(key=lambda rule: (bool(rule.asking), rule.key != "*"))
            return found[-1].next() if found else answer()


def reserved_port() -> socket.socket:
    """A bound socket that does not listen: connections to its port are refused."""
    reserved = socket.socket()
    reserved.bind(("127.0.0.1", 0))
    return reserved
