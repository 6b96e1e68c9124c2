"""Sends one completion request to a model, decides when the client gets its headers, and reads the
answer to its end.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable

from kefu.errors import GatewayTimeout, RateLimited, UpstreamUnavailable
from kefu.relay.attempt import BAD_STREAM, ModelProvider, Stream, Upstream
from kefu.relay.call import Call, Clock
from kefu.relay.chunks import Chunk, InBandError
from kefu.relay.failures import SILENT_MESSAGE
from kefu.relay.key_pool import CooldownStore, KeyPool
from kefu.relay.key_search import NEVER_SECONDS, KeySearch, Parts
from kefu.relay.parameters import Parameters
from kefu.relay.time_limits import RelayOptions

THINKING_SECONDS = 0.25
"""Seconds from status 200 within which most models send content, or an error with a status."""

CUT_MESSAGE = "The answer was cut off by the AI service."


class Relay:
    def __init__(
        self,
        upstream: Upstream,
        pool: KeyPool,
        cooldowns: CooldownStore,
        clock: Clock,
        options: RelayOptions | None = None,
        *,
        parameters: Parameters | None = None,
        fallback: ModelProvider | None = None,
    ) -> None:
        """`parameters` are those of the first upstream, which several relays may share.

        `fallback` is a second upstream, asked when no key of the first is left.
        """
        name = "primary" if fallback else ""
        first = ModelProvider(upstream, pool, name, parameters or Parameters())
        providers = (first, fallback) if fallback else (first,)
        self._parts = Parts(providers, cooldowns, clock, options or RelayOptions())
        self.has_fallback = bool(fallback)

    async def complete(self, call: Call, on_chunk: Callable[[Chunk], object]) -> None:
        """Send the request, and pass on each chunk until the answer is complete.

        Raises KefuError. The connection is closed afterwards, also after an error.
        """
        answer = await self.start(call)
        try:
            async for batch in answer.batches():
                for chunk in batch:
                    on_chunk(chunk)
        finally:
            await answer.aclose()

    async def start(self, call: Call) -> ModelAnswer:
        """Send the request; return when the caller may send its response headers.

        Returns with the first content. Also returns when an upstream is thinking, with status 200
        but no content, and `ping_interval` seconds have passed since the client's request; with
        `early_headers` even before that status. Raises a KefuError when no key gives an answer.
        Cancelling closes all connections.
        """
        search, options = KeySearch(call, self._parts), self._parts.options
        limits, monotonic = options.limits, self._parts.clock.monotonic
        try:
            if options.keys_ready:
                await options.keys_ready()
            await search.step(call.started + limits.ping_interval)
            while not (search.opened or search.answered or limits.early_headers):
                await search.step(NEVER_SECONDS, or_answered=True)
                await search.step(monotonic() + THINKING_SECONDS)
        except BaseException:
            await search.aclose()
            raise
        call.gate_open = True
        return ModelAnswer(call, search, self._parts)


class ModelAnswer:
    """A running answer of a model. Iterate over `batches` once.

    The iteration ends normally only when the answer is complete. An iteration that fails raises a
    KefuError; earlier chunks remain valid. Closing or cancelling the iteration early closes the
    upstream's connections, and waits until they are closed.
    """

    def __init__(self, call: Call, search: KeySearch, parts: Parts) -> None:
        self._search = search
        self._monotonic = parts.clock.monotonic
        self._limits = parts.options.limits
        self._end = call.started + self._limits.max_duration

    async def batches(self) -> AsyncGenerator[list[Chunk]]:
        """The chunks in order of arrival. An empty batch asks the caller to send a ping."""
        search, monotonic, limits = self._search, self._monotonic, self._limits
        try:
            while not (stream := search.opened):
                yield []
                await search.step(monotonic() + limits.ping_interval)
            completion = stream.completion
            yield stream.first
            received_at = monotonic()
            ping_at = received_at + limits.ping_interval
            while not stream.over:
                silence = limits.after_finish if completion.finish_reason else limits.stall
                limit = min(received_at + silence, self._end)
                timeout = max(0.001, min(ping_at, limit) - monotonic())
                try:
                    if stream.error:
                        raise stream.error
                    batch = stream.feed(await stream.response.read(timeout))
                    now = received_at = monotonic()
                    limit = self._end
                except TimeoutError:
                    batch, now = [], monotonic()
                except BAD_STREAM as error:
                    self._broken_off(stream, error)
                    break
                if now >= limit:
                    self._too_late(stream, now)
                    break
                if batch or now >= ping_at:
                    yield batch
                    ping_at = now + limits.ping_interval
            if not completion.finish_reason:
                search.broke("cut")
                raise UpstreamUnavailable(CUT_MESSAGE, retry_after=1)
        finally:
            await search.aclose()

    def _broken_off(self, stream: Stream, error: Exception) -> None:
        """Raise the error for the client, unless only the usage is missing."""
        if stream.completion.finish_reason:
            return
        status = error.status if isinstance(error, InBandError) else 0
        self._search.broke(f"cut_http_{status}" if status else "cut")
        if status == 429:
            message = "The AI service is overloaded."
            raise RateLimited(message, limit="keys", retry_after=1) from error
        if status == 504:
            raise GatewayTimeout(SILENT_MESSAGE) from error
        raise UpstreamUnavailable(CUT_MESSAGE, retry_after=1) from error

    def _too_late(self, stream: Stream, now: float) -> None:
        """Raise the error for the client, unless only the end of a finished answer is missing."""
        if stream.completion.finish_reason:
            return
        if now < self._end:
            self._search.broke("stalled")
        raise GatewayTimeout(SILENT_MESSAGE)

    async def aclose(self) -> None:
        """Close the upstream's connection. Has no effect when the answer is complete."""
        await self._search.aclose()
