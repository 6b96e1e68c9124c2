"""Guards the cooldowns: every wait is bounded, and the state of this process bridges an outage."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kefu.relay.key_pool import Cooldown, Cooldowns, CooldownStore, Fingerprint
from kefu.stores.deadlines import later
from kefu.stores.guarded.circuit import Circuit


class GuardedCooldowns:
    """Wraps a CooldownStore: it caches reads, and no caller waits longer than `timeout`.

    It merges the store's cooldowns with those that this process set. The later deadline wins. If a
    write fails, the cooldown applies in this process, and is written when the store recovers.
    """

    def __init__(
        self,
        store: CooldownStore,
        clock: Callable[[], float],
        *,
        timeout: float = 0.2,
        cache_for: float = 2.0,
        on_degraded: Callable[[str], None],
        pause: float = 3.0,
    ) -> None:
        self.circuit = Circuit(self._refresh, timeout=timeout, on_degraded=on_degraded, pause=pause)
        self._store = store
        self._clock = clock
        self._cache_for = cache_for
        self._view: Cooldowns = {}
        self._read_at = float("-inf")
        self._local: dict[Fingerprint, Cooldown] = {}
        self._unwritten: dict[Fingerprint, Cooldown] = {}
        self._reading: asyncio.Task[object] | None = None
        self._writing: dict[Fingerprint, asyncio.Task[object]] = {}

    async def cooldowns(self) -> Cooldowns:
        if reading := self.prefetch():
            await self.circuit.wait_for("reading cooldowns", reading)
        return self._view

    def prefetch(self) -> asyncio.Task[object] | None:
        """Start reading the store in the background if the cache has expired.

        Returns the task, which all callers share. None: the cache is fresh, or the circuit open.
        """
        # A negative age means that the clock was set back. A cache with such an age has expired.
        if 0 <= self._clock() - self._read_at < self._cache_for or self.circuit.open:
            return None
        if self._reading is None or self._reading.done():
            self._reading = self.circuit.start(
                self.circuit.succeeds("reading cooldowns", self._refresh())
            )
        return self._reading

    async def cool(self, key: Fingerprint, cooldown: Cooldown) -> Cooldowns:
        now = self._clock()
        self._local[key] = later(self._local.get(key), cooldown, now)
        self._unwritten[key] = later(self._unwritten.get(key), cooldown, now)
        self._view = {**self._view, key: later(self._view.get(key), cooldown, now)}
        writing = self._write_soon(key)
        if not self.circuit.open:
            await self.circuit.wait_for("writing a cooldown", writing)
        return self._view

    async def _refresh(self) -> None:
        self._merge(await self._store.cooldowns())
        now = self._clock()
        self._unwritten = {key: own for key, own in self._unwritten.items() if own.until > now}
        for key in list(self._unwritten):
            self._write_soon(key)

    def _merge(self, view: Cooldowns) -> None:
        now = self._clock()
        self._local = {key: own for key, own in self._local.items() if own.until > now}
        merged = {key: later(view.get(key), own, now) for key, own in self._local.items()}
        self._view = {**view, **merged}
        self._read_at = now

    def _write_soon(self, key: Fingerprint) -> asyncio.Task[object]:
        """Start writing a key's cooldown and return the task.

        Each key has at most one such task. A running one also writes a cooldown set meanwhile.
        """
        writing = self._writing.get(key)
        if writing is None or writing.done():
            writing = self._writing[key] = self.circuit.start(self._write(key))
        return writing

    async def _write(self, key: Fingerprint) -> None:
        while (cooldown := self._unwritten.get(key)) and cooldown.until > self._clock():
            if not await self.circuit.succeeds("writing a cooldown", self._cool(key, cooldown)):
                break

    async def _cool(self, key: Fingerprint, cooldown: Cooldown) -> None:
        view = await self._store.cool(key, cooldown)
        if self._unwritten.get(key) == cooldown:  # otherwise `cool` set a later deadline
            del self._unwritten[key]
        self._merge(view)
