"""Reads a running answer to its end and applies the time limits.

The module also defines the ports `Upstream` and `Clock` that the relay uses.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from kefu.errors import GatewayTimeout, KefuError, RateLimited, UpstreamUnavailable
from kefu.relay.chunks import Chunk, Completion, InBandError, Usage
from kefu.relay.failures import SILENT
from kefu.relay.key_pool import Fingerprint
from kefu.relay.response import BAD_STREAM, Stream, UpstreamResponse
from kefu.relay.time_limits import TimeLimits

CUT = "The answer was cut off by the AI service."


class Clock(Protocol):
    def now(self) -> float:
        """Unix time in seconds."""
        ...

    def monotonic(self) -> float:
        """Seconds since an arbitrary point in time; never decreases."""
        ...


class Upstream(Protocol):
    """An OpenAI-compatible `POST /chat/completions`."""

    async def send(self, body: bytes, secret: str) -> UpstreamResponse:
        """Send a request; return when the response headers have arrived. Follows no redirect.

        Raises HostUnreachable or CertificateRejected. Cancelling closes the connection.
        """
        ...


class Attempt(NamedTuple):
    """One attempt with one key, for logs."""

    key: Fingerprint
    outcome: str
    """`ok`, `http_429`, `silent`, … `overtaken`: another key was faster. `cancelled`: the request
    ended before the attempt.
    """
    seconds: float
    started: float = 0.0
    """Monotonic time; two attempts may overlap."""
    cooled_down: bool = False
    """Whether this attempt started a cooldown of the key."""
    failing: bool = False
    """Whether this process asks the key last for a while, because of this attempt."""
    upstream: str = ""
    """Which upstream was asked, if there are two: `primary` or `fallback`."""
    said: str = ""
    """The text of a response that was refused: at most 4 KB, without secrets."""


@dataclass(slots=True, eq=False, repr=False)
class Call:
    """One completion request, with its body and its progress."""

    body: bytes
    completion: Completion
    """Empty until the first content; then that of the attempt that sent it."""
    started: float
    """Monotonic time at which the client's request arrived."""
    attempts: list[Attempt] = field(default_factory=list)
    """In the order in which they ended; of an answer, its attempt is the last."""
    first_event_at: float | None = None
    """Monotonic time of the first content."""
    gate_open: bool = False
    """Whether the client may have its response headers, so that the status cannot change."""
    prompts_sent: int = 0
    """Attempts that the upstream may bill: it got the request and sent no error status."""
    all_keys_cooling: bool = False
    """Whether the request failed because every key is cooling down or invalid."""

    @property
    def answered_by(self) -> str:
        """The upstream whose answer is sent, if there are two; empty before the first content."""
        return self.attempts[-1].upstream if self.first_event_at is not None else ""

    def usage(self, prompt: int) -> Usage:
        """The tokens that the upstream reported; without a report, the estimated ones.

        `prompt` is the estimated number of tokens of one prompt. For an answer that broke off, the
        result is the larger of the report and the estimate.
        """
        reported, estimated = self.completion.usage, self.completion.estimated
        if reported is None:
            return Usage(prompt if self.prompts_sent else 0, estimated)
        if self.completion.finish_reason is None:
            return reported._replace(completion=max(reported.completion, estimated))
        return reported

    def spent(self, prompt: int) -> int:
        """Tokens that the upstream may bill: `usage`, and the prompts of the other attempts."""
        usage = self.usage(prompt)
        return usage.prompt + usage.completion + prompt * max(0, self.prompts_sent - 1)


class Opened(NamedTuple):
    """A stream whose first content has arrived, with the chunks that were read so far."""

    stream: Stream
    chunks: list[Chunk]


class Opening(Protocol):
    """The search for the key that answers a request."""

    opened: Opened | None
    """Set with the first content."""

    async def step(self, until: float) -> Opened | None:
        """Search for the first content. Returns None at `until`, monotonic time.

        Raises a KefuError when no key gives an answer.
        """
        ...

    def broke(self, outcome: str) -> None:
        """Record that the answer broke off after its first content."""
        ...

    async def aclose(self) -> None:
        """Close all connections; return when they are closed. A complete answer stays complete."""
        ...


class Answer:
    """A running answer. Iterate over `batches` once.

    The iteration ends normally only when the answer is complete. Otherwise it raises a KefuError;
    earlier chunks remain valid. Closing or cancelling the iteration early closes the upstream's
    connections, and waits until they are closed.
    """

    def __init__(self, call: Call, opening: Opening, clock: Clock, limits: TimeLimits) -> None:
        self._call = call
        self._opening = opening
        self._clock = clock
        self._limits = limits
        self._received_at = 0.0
        """Monotonic time of the last bytes."""

    async def batches(self) -> AsyncGenerator[list[Chunk]]:
        """The chunks in order of arrival. An empty batch asks the caller to send a ping."""
        ping_interval, monotonic = self._limits.ping_interval, self._clock.monotonic
        try:
            opened = self._opening.opened
            while opened is None:
                yield []
                opened = await self._opening.step(monotonic() + ping_interval)
            stream, batch = opened
            yield batch
            self._received_at = sent_at = monotonic()
            while not stream.over:
                batch = await self._read(stream, ping_at=sent_at + ping_interval)
                now = monotonic()
                if batch or now >= sent_at + ping_interval:
                    yield batch
                    sent_at = now
            if not stream.finished:
                self._opening.broke("cut")
                raise UpstreamUnavailable(CUT, retry_after=1)
        finally:
            await self.aclose()

    async def _read(self, stream: Stream, ping_at: float) -> list[Chunk]:
        """The next chunks, none at `ping_at`. Raises a KefuError when the answer breaks off.

        Sets `stream.over` when the rest of a finished answer does not follow in time.
        """
        limits, monotonic = self._limits, self._clock.monotonic
        silence = limits.after_finish if stream.finished else limits.stall
        end = self._call.started + limits.max_duration
        limit = min(self._received_at + silence, end)
        try:
            batch = await stream.read(max(0.001, min(limit, ping_at) - monotonic()))
            self._received_at = monotonic()
            if self._received_at < end:
                return batch
        except TimeoutError:
            if monotonic() < limit:
                return []
        except BAD_STREAM as error:
            self._opening.broke(_outcome(error))
            raise _broken(error) from error
        if stream.finished:
            stream.over = True
            return []
        if monotonic() < end:
            self._opening.broke("stalled")
        raise GatewayTimeout(SILENT)

    async def aclose(self) -> None:
        """Close the upstream's connection. Has no effect when the answer is complete."""
        await self._opening.aclose()


def _outcome(error: Exception) -> str:
    if isinstance(error, InBandError):
        return f"cut_http_{error.status}"
    return "cut"


def _broken(error: Exception) -> KefuError:
    """The error for the client when an answer fails after its first content."""
    if isinstance(error, InBandError) and error.status == 429:
        return RateLimited("The AI service is overloaded.", limit="keys", retry_after=1)
    if isinstance(error, InBandError) and error.status == 504:
        return GatewayTimeout(SILENT)
    return UpstreamUnavailable(CUT, retry_after=1)
