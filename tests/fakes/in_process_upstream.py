"""An `Upstream` without sockets, which answers each request by the script of its key.

It uses the time of the running event loop. In a virtual loop its delays take no real time.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from kefu.errors import ConnectionLost, HostUnreachable

FOREVER = float("inf")
SSE: Mapping[str, str] = MappingProxyType({"content-type": "text/event-stream; charset=utf-8"})
JSON: Mapping[str, str] = MappingProxyType({"content-type": "application/json"})
DONE = b"data: [DONE]\n\n"

Part = tuple[float, bytes | Exception]
"""Seconds after the part before it, and the bytes that arrive or the error that is raised."""


@dataclass(frozen=True)
class Reply:
    """The response of the upstream to one request. A body without further parts has ended."""

    parts: tuple[Part, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: SSE)
    headers_after: float = 0.0
    error: Exception | None = None
    """Raised in place of the headers."""

    def then(self, *parts: bytes | Exception, after: float = 0.0) -> Reply:
        """A copy with more parts, each `after` seconds later than the previous one."""
        return replace(self, parts=(*self.parts, *((after, part) for part in parts)))

    def then_silence(self) -> Reply:
        return self.then(b"", after=FOREVER)

    def late(self, seconds: float) -> Reply:
        """A copy whose headers arrive after so many seconds."""
        return replace(self, headers_after=seconds)


def event(body: object) -> bytes:
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def chunk(delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return event({**head, "choices": [choice], **more})


def text(content: str) -> bytes:
    return chunk({"content": content})


def usage(prompt: int, completion: int) -> bytes:
    tokens = {"prompt_tokens": prompt, "completion_tokens": completion}
    return event({"id": "c", "choices": [], "usage": tokens})


def in_band(**error: Any) -> bytes:
    return event({"error": error})


ROLE = chunk({"role": "assistant", "content": ""})
STOP = chunk({}, finish="stop")

STREAM = Reply()
"""200 and the headers of an event stream, whose body is still to be added."""
SILENT = Reply(headers_after=FOREVER)
"""The connection is accepted; no byte ever comes back."""
REFUSED = Reply(error=HostUnreachable("refused"))
RESET = Reply(error=HostUnreachable("reset", request_sent=True))
"""Reset after the request was sent and before any header."""
LOST = ConnectionLost("reset")
"""As a part of a body: the connection breaks there."""


def answer(content: str = "hello", *, after: float = 0.0) -> Reply:
    """A complete answer, with `after` seconds between its headers and its first event."""
    return STREAM.then(text(content), after=after).then(STOP, DONE)


def refusal(status: int, body: object = None, **headers: str) -> Reply:
    """An error status; `retry_after="5"` sets the header `retry-after`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    content = json.dumps(body or {"error": {"message": "no"}}).encode()
    return Reply(((0.0, content),), status, {**JSON, **named})


@dataclass
class Exchange:
    """One request with its connection. Times are those of the event loop."""

    secret: str
    body: bytes
    at: float
    closed_at: float | None = None
    """When the relay closed the connection, before or after the headers."""
    finished: bool = False
    """The relay read the answer whole and the connection can be used again."""


class ScriptedResponse:
    def __init__(self, reply: Reply, exchange: Exchange) -> None:
        self.status = reply.status
        self.headers = reply.headers
        self._parts = list(reply.parts)
        self._exchange = exchange
        self._last = _time()

    async def read(self, timeout: float) -> bytes:
        if not self._parts:
            await asyncio.sleep(0)
            return b""
        after, part = self._parts[0]
        wait = self._last + after - _time()
        if wait > timeout:
            await asyncio.sleep(timeout)
            raise TimeoutError
        await asyncio.sleep(max(0.0, wait))
        self._last = _time()
        del self._parts[0]
        if isinstance(part, Exception):
            raise part
        return part

    async def aclose(self) -> None:
        if self._exchange.closed_at is None and not self._exchange.finished:
            self._exchange.closed_at = _time()
        await asyncio.sleep(0)

    def finish(self) -> None:
        self._exchange.finished = True


@dataclass
class InProcessUpstream:
    script: Mapping[str, Reply | Sequence[Reply]]
    """By secret. Of several replies each serves one request, the last one all that follow."""
    exchanges: list[Exchange] = field(default_factory=list)

    async def send(self, body: bytes, secret: str) -> ScriptedResponse:
        scripted = self.script[secret]
        replies = [scripted] if isinstance(scripted, Reply) else scripted
        earlier = sum(one.secret == secret for one in self.exchanges)
        reply = replies[min(earlier, len(replies) - 1)]
        exchange = Exchange(secret, body, _time())
        self.exchanges.append(exchange)
        try:
            if reply.headers_after == FOREVER:
                await asyncio.get_running_loop().create_future()
            await asyncio.sleep(reply.headers_after)
        except asyncio.CancelledError:
            exchange.closed_at = _time()
            raise
        if reply.error:
            exchange.closed_at = _time()
            raise reply.error
        return ScriptedResponse(reply, exchange)


def _time() -> float:
    return asyncio.get_running_loop().time()
