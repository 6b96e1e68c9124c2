"""A running answer: what has begun to come from an upstream, watched until its end.

Here are also the ports through which the relay sees the world: `Upstream` and `Clock`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kefu.completion import Chunk, Completion, InBandError, MalformedChunk
from kefu.errors import (
    ConnectionLost,
    GatewayTimeout,
    KefuError,
    RateLimited,
    UpstreamUnavailable,
)
from kefu.keypool import Fingerprint
from kefu.sse import EventTooLarge, Parser

SILENT = "The AI service did not answer in time."
CUT = "The answer was cut off by the AI service."

BAD_STREAM = (ConnectionLost, EventTooLarge, InBandError, MalformedChunk)
"""What `Stream.read` raises when an answer goes wrong."""


class Clock(Protocol):
    def now(self) -> float:
        """Unix time in seconds."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""
        ...


class UpstreamResponse(Protocol):
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""

    async def read(self, timeout: float) -> bytes:
        """The next bytes, as they came; empty at the end.

        Raises TimeoutError after `timeout` seconds without any (nothing is lost: read again),
        ConnectionLost when the connection broke.
        """
        ...

    def close(self) -> None:
        """End the exchange; the connection is closed at once unless the body was read whole."""
        ...

    def finish(self) -> None:
        """The answer is whole: what may still come is not wanted, but the connection is.

        Saying it again changes nothing.
        """
        ...


class Upstream(Protocol):
    """An OpenAI-compatible `POST /chat/completions`."""

    async def send(self, body: bytes, secret: str) -> UpstreamResponse:
        """Send a request; answers with the headers. Never follows a redirect.

        Raises HostUnreachable or CertificateRejected. Cancelling it closes the connection.
        """
        ...


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the relay waits for what; all in seconds."""

    try_timeout: float = 2.5
    first_byte_budget: float = 4.5
    first_event_timeout: float = 10.0
    first_event_budget: float = 29.0
    stall_timeout: float = 10.0
    ping_interval: float = 2.5
    max_duration: float = 120.0
    after_finish: float = 2.0
    """For the usage and `[DONE]` that should follow a finish_reason."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try with one key, for logs."""

    key: Fingerprint
    outcome: str
    seconds: float
    rested: bool = False
    """Whether the key rests because of it."""


@dataclass(slots=True)
class Call:
    """One request on its way: what is sent, and what came of it."""

    body: bytes
    completion: Completion
    started: float
    """Monotonic time at which the client's request came."""
    attempts: list[Attempt] = field(default_factory=list)
    first_event_at: float | None = None
    """Monotonic time of the first good event."""
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while an upstream has answered 200 and its first event is awaited."""
    gate_open: bool = False
    """The client has its headers: no status can be told any more."""


class Stream:
    """The events of one response, parsed and checked; no chunk that names the key gets out."""

    def __init__(self, response: UpstreamResponse, completion: Completion, secret: str) -> None:
        self.completion = completion
        self.over = False
        self._response = response
        self._parser = Parser()
        # A shorter one is no secret, but part of ordinary text.
        self._secret = secret if len(secret) >= 8 else None
        self._bad: Exception | None = None

    @property
    def whole(self) -> bool:
        """The model said that it had finished; only usage and `[DONE]` may follow."""
        return self.completion.finish_reason is not None

    async def read(self, timeout: float) -> list[Chunk]:
        """The chunks in the next bytes, maybe none. Sets `over` at `[DONE]` or the end.

        What came before a bad event in the same bytes is given out first.
        """
        if self._bad:
            raise self._bad
        try:
            data = await self._response.read(timeout)
        except ConnectionLost:
            if not self.whole:
                raise
            data = b""
        chunks: list[Chunk] = []
        try:
            for event in self._parser.feed(data):
                if chunk := self.completion.read(event):
                    if self._secret and self._secret in chunk.text:
                        raise MalformedChunk("the upstream echoed the key")
                    chunks.append(chunk)
        except (MalformedChunk, EventTooLarge, InBandError) as error:
            if not chunks:
                raise
            self._bad = error
        self.over = self.completion.done or not data
        return chunks

    def close(self) -> None:
        if self.completion.done:
            self._response.finish()
        else:
            self._response.close()


@dataclass(frozen=True, slots=True)
class Opened:
    """A stream whose first event is good."""

    stream: Stream
    chunks: list[Chunk]


class Answer:
    """A running answer; iterate it once. Between batches of chunks it says when to ping.

    An iteration that ends did so properly: the answer is whole. It raises GatewayTimeout or
    UpstreamUnavailable when the answer stalls, is cut or turns into an error; what was already
    given out stays good. Closing it early (or cancelling) closes the upstream's connection.
    """

    def __init__(
        self, call: Call, opening: asyncio.Task[Opened], clock: Clock, patience: Patience
    ) -> None:
        self._call = call
        self._opening = opening
        self._clock = clock
        self._patience = patience

    async def batches(self) -> AsyncIterator[list[Chunk]]:
        """Chunks in the order they came; an empty batch means: nothing for a while, send a ping."""
        try:
            while not self._opening.done():
                yield []
                await asyncio.wait({self._opening}, timeout=self._patience.ping_interval)
            opened = self._opening.result()
            yield opened.chunks
            async for batch in self._rest(opened.stream):
                yield batch
        finally:
            self.close()

    async def _rest(self, stream: Stream) -> AsyncIterator[list[Chunk]]:
        patience, monotonic = self._patience, self._clock.monotonic
        end = self._call.started + patience.max_duration
        last_in = last_out = monotonic()
        while not stream.over:
            silence = patience.after_finish if stream.whole else patience.stall_timeout
            limit = min(last_in + silence, end)
            wait = min(limit, last_out + patience.ping_interval) - monotonic()
            try:
                batch = await stream.read(max(0.001, wait))
                last_in = now = monotonic()
            except TimeoutError:
                batch, now = [], monotonic()
            except BAD_STREAM as error:
                raise _broken(error) from error
            if now >= end or (now >= limit and last_in < now):
                if stream.whole:
                    return
                raise GatewayTimeout(SILENT)
            if batch or now - last_out >= patience.ping_interval:
                yield batch
                last_out = now
        if not stream.whole:
            raise UpstreamUnavailable(CUT)

    def close(self) -> None:
        """Close the upstream's connection; harmless when the answer is whole."""
        abandon(self._opening)


def abandon(opening: asyncio.Task[Opened]) -> None:
    if not opening.done():
        opening.cancel()
    elif not opening.cancelled() and not opening.exception():
        opening.result().stream.close()


def _broken(error: Exception) -> KefuError:
    """The error a client hears when an answer goes wrong after it has begun."""
    if isinstance(error, InBandError) and error.status == 429:
        return RateLimited("The AI service is overloaded.")
    if isinstance(error, InBandError) and error.status == 504:
        return GatewayTimeout(SILENT)
    return UpstreamUnavailable(CUT)
