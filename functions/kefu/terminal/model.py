"""Opens the model of the settings for one user: its keys, its relay and its connections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from kefu.bootstrap.base import KEYS_TTL_SECONDS
from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.options import time_limits
from kefu.bootstrap.upstream import ChosenModel, StoredValue, stored_values
from kefu.relay.call import Call
from kefu.relay.chunks import Completion, Usage
from kefu.relay.collected import Collected
from kefu.relay.key_pool import KeyPool
from kefu.relay.relay import Relay
from kefu.relay.time_limits import RelayOptions
from kefu.settings import Settings
from kefu.stores.aws import text_at
from kefu.stores.memory import MemoryStore
from kefu.stores.referenced_keys import ReferencedKeys
from kefu.terminal.flags import WrongUse, wrong_use


class KeysByReference:
    """Passes on the secrets at a place in AWS, and again after a rotation."""

    def __init__(self, stored: StoredValue, now: Callable[[], float]) -> None:
        self.what = stored.what
        self.trouble = ""
        """The error of the last failed read. The error contains no part of a key."""
        self._keys = ReferencedKeys(
            partial(text_at, stored.place),
            stored.set_secrets,
            now,
            ttl=KEYS_TTL_SECONDS,
            on_degraded=self._note,
        )

    def _note(self, trouble: str) -> None:
        # The error is not printed: the user may be typing, and the earlier keys still work.
        self.trouble = trouble

    async def ready(self) -> None:
        """Start a read if one is due. Wait for the first keys, for a limited time."""
        self._keys.prefetch()
        await self._keys.ready()

    @property
    def loaded(self) -> bool:
        return self._keys.loaded

    async def aclose(self) -> None:
        await self._keys.aclose()


class Completed(NamedTuple):
    """A complete output of the model."""

    text: str
    usage: Usage | None
    calls: Sequence[tuple[str, str]] = ()
    """The names and the arguments of called tools, which are not run."""


class OpenModel:
    """A model that one user asks."""

    def __init__(self, settings: Settings, chosen: ChosenModel, *, keys: bool) -> None:
        """`keys`: whether the model needs the API keys of the settings."""
        clock = self._clock = SystemClock()
        self._upstream = chosen.upstream
        self.pool = KeyPool(settings.keys if keys else ("local",))
        stored = [*stored_values(settings.endpoint, chosen.upstream)] if keys else []
        if keys and settings.keys_place:
            place = settings.keys_place
            stored.append(StoredValue(place, "KEFU_API_KEYS", self.pool.replace))
        self._stored = [KeysByReference(one, clock.now) for one in stored]
        # The long limits: no widget's timers run here, so a slow model may take its time.
        limits = time_limits(settings.model_copy(update={"patience": "slow"}))
        # A short default: only one user waits for a key that cools down.
        cooldown = settings.cooldown if "cooldown" in settings.model_fields_set else 5.0
        options = RelayOptions(limits, cooldown=cooldown)
        if self._stored:
            options = options._replace(keys_ready=self._read)
        self.relay = Relay(chosen.upstream, self.pool, MemoryStore(clock.now), clock, options)

    async def warm(self) -> None:
        """Wait until the model is ready. Raises WrongUse if it cannot start or has no key."""
        await self._read()
        for one in self._stored:
            if one.trouble and not one.loaded:
                raise WrongUse(f"{one.what} leads to no key: {one.trouble}")
        with wrong_use(RuntimeError):
            await self._upstream.warm()

    async def _read(self) -> None:
        for one in self._stored:
            await one.ready()

    async def complete(self, body: bytes, model: str) -> Completed:
        """The whole answer to a request. Raises the relay's KefuErrors."""
        completion = Completion("kefu", model, int(self._clock.now()))
        call, collected = Call(body, completion, self._clock.monotonic()), Collected()
        await self.relay.complete(call, collected.add)
        return Completed(collected.content, call.completion.usage, collected.tool_calls)

    async def aclose(self) -> None:
        """Close the connections."""
        for one in self._stored:
            await one.aclose()
        await self._upstream.aclose()
