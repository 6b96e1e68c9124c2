"""A running answer: what has begun to come from an upstream, watched until its end.

Here are also the ports through which the relay sees the world: `Upstream` and `Clock`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from kefu.completion import Chunk, Completion, InBandError
from kefu.errors import GatewayTimeout, KefuError, RateLimited, UpstreamUnavailable
from kefu.keypool import Fingerprint
from kefu.lean_typing import NamedTuple, Protocol
from kefu.stream import BAD_STREAM, Stream, UpstreamResponse

SILENT = "The AI service did not answer in time."
CUT = "The answer was cut off by the AI service."


class Clock(Protocol):
    def now(self) -> float:
        """Unix time in seconds."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""
        ...


class Upstream(Protocol):
    """An OpenAI-compatible `POST /chat/completions`."""

    async def send(self, body: bytes, secret: str) -> UpstreamResponse:
        """Send a request; answers with the headers. Never follows a redirect.

        Raises HostUnreachable or CertificateRejected. Cancelling it closes the connection.
        """
        ...


class Patience(NamedTuple):
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


class Attempt(NamedTuple):
    """One try with one key, for logs."""

    key: Fingerprint
    outcome: str
    seconds: float
    rested: bool = False
    """Whether the key rests because of it."""


@dataclass(slots=True, eq=False, repr=False)
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


class Opened(NamedTuple):
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
