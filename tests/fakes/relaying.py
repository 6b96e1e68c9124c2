"""A relay in the process of the test: keys, cooldowns, a scripted upstream and virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ParamSpec

from kefu.errors import KefuError
from kefu.relay.attempt import ModelProvider
from kefu.relay.call import Call
from kefu.relay.chunks import Completion
from kefu.relay.key_pool import Cooldown, KeyPool, Reason, fingerprint
from kefu.relay.parameters import Parameters
from kefu.relay.relay import ModelAnswer, Relay
from kefu.relay.time_limits import NORMAL, RelayOptions, TimeLimits
from kefu.stores.memory import MemoryStore
from tests.fakes.in_process_upstream import Exchange, InProcessUpstream, Reply
from tests.fakes.virtual_time import VirtualClock, run

P = ParamSpec("P")

CLOCK = VirtualClock()
PING = "(ping)"
BODY = b'{"messages": []}'


@dataclass
class Result:
    """The events or the error that the relay returned. Times are seconds since the call."""

    call: Call
    head_at: float = -1.0
    """When headers could be sent, or when an error took their place."""
    refused: KefuError | None = None
    """Raised before headers."""
    pieces: list[tuple[float, str]] = field(default_factory=list)
    """The content of each batch of chunks, or PING."""
    broken: KefuError | None = None
    """Raised after headers."""
    ended_at: float = -1.0

    @property
    def error(self) -> KefuError:
        found = self.refused or self.broken
        assert found, "there was no error"
        return found

    @property
    def text(self) -> str:
        return "".join(piece for _, piece in self.pieces if piece != PING)

    @property
    def pings(self) -> list[float]:
        return [round(at, 2) for at, piece in self.pieces if piece == PING]

    @property
    def whole(self) -> bool:
        return self.refused is self.broken is None and self.call.completion.finish_reason == "stop"

    @property
    def outcomes(self) -> list[str]:
        return [attempt.outcome for attempt in self.call.attempts]


class Rig:
    def __init__(
        self,
        script: Mapping[str, Reply | Sequence[Reply]],
        *,
        keys: Sequence[str] | None = None,
        second: Mapping[str, Reply | Sequence[Reply]] | None = None,
        parameters: Parameters | None = None,
        limits: TimeLimits = NORMAL,
        store: type[MemoryStore] = MemoryStore,
        **options: Any,
    ) -> None:
        """The keys are those of the script, in its order, unless `keys` lists them.

        `second` is the script of a second upstream, and `parameters` are those of its requests.
        """
        self.upstream = InProcessUpstream(script)
        self.pool = KeyPool(list(script) if keys is None else keys)
        self.second = InProcessUpstream(second or {})
        self.second_pool = KeyPool(list(second or {}))
        parameters = parameters or Parameters()
        self.store = store(CLOCK.now)
        self.relay = Relay(
            self.upstream,
            self.pool,
            self.store,
            CLOCK,
            RelayOptions(limits, **options),
            fallback=ModelProvider(self.second, self.second_pool, "fallback", parameters)
            if second
            else None,
        )

    def call(self, *, waited: float = 0.0, estimate: Callable[[str], int] | None = None) -> Call:
        """A call of the relay. `waited`: the seconds since the client's request arrived."""
        completion = Completion("fallback", "m", 1, estimate)
        return Call(BODY, completion, started=CLOCK.monotonic() - waited)

    async def ask(self, call: Call | None = None) -> Result:
        began = CLOCK.monotonic()
        result = Result(call or self.call())
        try:
            answer = await self.relay.start(result.call)
        except KefuError as error:
            result.refused = error
            result.head_at = result.ended_at = CLOCK.monotonic() - began
            return result
        result.head_at = CLOCK.monotonic() - began
        await self._read(answer, result, began)
        return result

    async def _read(self, answer: ModelAnswer, result: Result, began: float) -> None:
        try:
            async for batch in answer.batches():
                content = "".join(
                    choice["delta"].get("content") or ""
                    for chunk in batch
                    for choice in chunk.body["choices"]  # type: ignore[attr-defined]
                )
                result.pieces.append((CLOCK.monotonic() - began, content if batch else PING))
        except KefuError as error:
            result.broken = error
        result.ended_at = CLOCK.monotonic() - began

    async def cool(self, secret: str, seconds: float, reason: Reason = Reason.FAILING) -> None:
        """Set a cooldown, as another process would do."""
        await self.store.cool(fingerprint(secret), Cooldown(CLOCK.now() + seconds, reason))

    async def cooling(self) -> dict[str, tuple[Reason, float]]:
        """The reason for each cooldown, and the seconds until it ends, by key."""
        view = await self.store.cooldowns()
        keys = (*self.pool.keys, *self.second_pool.keys)
        names = {key.fingerprint: key.secret for key in keys}
        return {
            names[key]: (cooldown.reason, round(cooldown.until - CLOCK.now(), 2))
            for key, cooldown in view.items()
            if cooldown.until > CLOCK.now()
        }

    @property
    def asked(self) -> list[tuple[str, float]]:
        """The keys that were used, with the time of each use."""
        return [(one.secret, round(one.at, 2)) for one in self.exchanges]

    @property
    def exchanges(self) -> list[Exchange]:
        """The requests to both upstreams in their order."""
        both = self.upstream.exchanges + self.second.exchanges
        return sorted(both, key=lambda one: one.at)

    @property
    def failing(self) -> list[str]:
        """The keys that have failed recently and are therefore used last."""
        pools = (self.pool, self.second_pool)
        return [
            key.secret for pool in pools for key in pool.keys if key.fingerprint in pool.failing
        ]

    @property
    def open(self) -> list[str]:
        """The keys whose connections are still open."""
        return [one.secret for one in self.exchanges if one.closed_at is None and not one.finished]


def in_virtual_time(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """A decorator that runs a test in virtual time. The test fails if it would wait without
    an end.
    """

    @wraps(test)
    def at_once(*args: P.args, **kwargs: P.kwargs) -> None:
        run(test(*args, **kwargs))

    return at_once


async def later(seconds: float, work: Callable[[], Awaitable[object]]) -> None:
    await asyncio.sleep(seconds)
    await work()
