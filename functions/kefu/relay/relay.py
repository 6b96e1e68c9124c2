"""Sends one completion request to a model, and decides when the client gets its headers."""

from __future__ import annotations

from collections.abc import Callable

from kefu.relay.attempt import Provider
from kefu.relay.chunks import Chunk
from kefu.relay.completion_stream import Answer, Call, Clock, Upstream
from kefu.relay.key_pool import CooldownStore, KeyPool
from kefu.relay.key_search import KeySearch, Parts
from kefu.relay.options import RelayOptions
from kefu.relay.schedule import NEVER

THINKING = 0.25
"""Seconds from status 200 within which most models send content, or an error with a status."""


class Relay:
    def __init__(
        self,
        upstream: Upstream,
        pool: KeyPool,
        cooldowns: CooldownStore,
        clock: Clock,
        options: RelayOptions | None = None,
        *,
        fallback: Provider | None = None,
    ) -> None:
        """`fallback` is a second upstream, asked when no key of the first is left."""
        first = Provider(upstream, pool, "primary" if fallback else "")
        providers = (first, fallback) if fallback else (first,)
        self._parts = Parts(providers, cooldowns, clock, options or RelayOptions())

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

    async def start(self, call: Call) -> Answer:
        """Send the request; return when the caller may send its response headers.

        Returns with the first content. Also returns when an upstream is thinking, with status 200
        but no content, and `ping_interval` seconds have passed since the client's request; with
        `early_headers` even before that status. Raises a KefuError when no key gives an answer.
        Cancelling closes all connections.
        """
        search = KeySearch(call, self._parts)
        try:
            await self._gate(call, search)
        except BaseException:
            await search.aclose()
            raise
        call.gate_open = True
        return Answer(call, search, self._parts.clock, self._parts.options.limits)

    async def _gate(self, call: Call, search: KeySearch) -> None:
        options, monotonic = self._parts.options, self._parts.clock.monotonic
        await options.keys_ready()
        limits = options.limits
        await search.step(call.started + limits.ping_interval)
        while not (search.opened or search.answered or limits.early_headers):
            await search.step(NEVER, or_answered=True)
            await search.step(monotonic() + THINKING)
