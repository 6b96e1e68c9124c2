"""Stores that never stop a chat: every wait is bounded, and without the store memory goes on.

What happens while a store is away is a choice, made here: cooldowns and rate limits go on with
what this process knows; a budget refuses (`closed`), or goes on with this process's own count.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Literal

from kefu.errors import StoreUnavailable
from kefu.keypool import Cooldown, Cooldowns, CooldownStore, Fingerprint
from kefu.limits import LimitStore, Rate
from kefu.stores.circuit import PATIENCE, Circuit
from kefu.stores.deadlines import later
from kefu.stores.memory import MemoryStore


class Background:
    """Tasks that outlive the request that began them. They must not raise."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def aclose(self, grace: float) -> None:
        """Let the tasks end for `grace` seconds, then cancel them."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class GuardedCooldowns:
    """A CooldownStore around another: reads are cached, and no caller waits over `timeout`.

    The view is the store's, merged with what this process saw by itself; of two the later deadline
    wins. A cooldown that the store could not take holds here, and is written when it is back.
    The store itself is closed by whoever made it.
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
        self._reading: asyncio.Task[None] | None = None
        self._writing: dict[Fingerprint, asyncio.Task[None]] = {}
        self._background = Background()

    async def cooldowns(self) -> Cooldowns:
        if reading := self.prefetch():
            await self._wait_for(reading, "reading cooldowns")
        return self._view

    def prefetch(self) -> asyncio.Task[None] | None:
        """Start reading, if the view is old, beside other work; all who wait share one read."""
        # A clock that went back would make a view fresh for ever.
        if 0 <= self._clock() - self._read_at < self._cache_for or self.circuit.open:
            return None
        if self._reading is None or self._reading.done():
            self._reading = self._background.start(self._read())
        return self._reading

    async def cool(self, key: Fingerprint, cooldown: Cooldown) -> Cooldowns:
        now = self._clock()
        self._local[key] = later(self._local.get(key), cooldown, now)
        self._unwritten[key] = later(self._unwritten.get(key), cooldown, now)
        self._view = {**self._view, key: later(self._view.get(key), cooldown, now)}
        writing = self._write_soon(key)
        if not self.circuit.open:
            await self._wait_for(writing, "writing a cooldown")
        return self._view

    async def aclose(self) -> None:
        await self.circuit.aclose()
        await self._background.aclose(self.circuit.timeout)

    async def _wait_for(self, task: asyncio.Task[None], what: str) -> None:
        """Wait in vain at most once: the task goes on, so that its answer is not lost."""
        _, late = await asyncio.wait({task}, timeout=self.circuit.timeout)
        if late:
            self.circuit.trip(what, TimeoutError())

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                await self._refresh()
        except Exception as error:  # noqa: BLE001 - whatever breaks in a store, chats go on
            self.circuit.trip("reading cooldowns", error)

    async def _refresh(self) -> None:
        self._learn(await self._store.cooldowns())
        now = self._clock()
        self._unwritten = {key: own for key, own in self._unwritten.items() if own.until > now}
        for key in self._unwritten:
            self._write_soon(key)

    def _learn(self, view: Cooldowns) -> None:
        now = self._clock()
        self._local = {key: own for key, own in self._local.items() if own.until > now}
        mine = {key: later(view.get(key), own, now) for key, own in self._local.items()}
        self._view = {**view, **mine}
        self._read_at = now

    def _write_soon(self, key: Fingerprint) -> asyncio.Task[None]:
        """One write a key at a time; one under way picks up what has been added to it."""
        if key not in self._writing:
            self._writing[key] = self._background.start(self._write(key))
        return self._writing[key]

    async def _write(self, key: Fingerprint) -> None:
        try:
            while (cooldown := self._unwritten.get(key)) and cooldown.until > self._clock():
                async with asyncio.timeout(PATIENCE):
                    view = await self._store.cool(key, cooldown)
                if self._unwritten.get(key) == cooldown:  # else a later one came meanwhile
                    del self._unwritten[key]
                self._learn(view)
        except Exception as error:  # noqa: BLE001 - whatever breaks in a store, chats go on
            self.circuit.trip("writing a cooldown", error)
        finally:
            del self._writing[key]


class GuardedLimits:
    """A LimitStore around another: without it rate limits are this process's own.

    `budget_without_store`: "closed" raises StoreUnavailable, "local" counts in this process. What
    the store was not told of a budget it is told when it is back.
    """

    def __init__(
        self,
        store: LimitStore,
        local: MemoryStore,
        *,
        timeout: float = 0.2,
        on_degraded: Callable[[str], None],
        budget_without_store: Literal["closed", "local"] = "closed",
        circuit: Circuit | None = None,
        first_answer: float = 3.0,
    ) -> None:
        """`circuit`: shared with the GuardedCooldowns of the same store.

        `first_answer`: seconds a closed budget waits for a store that has never answered, because
        its library may still be loading.
        """
        self._own_circuit = circuit is None
        self.circuit = circuit or Circuit(
            lambda: store.settle("probe", 0), timeout=timeout, on_degraded=on_degraded
        )
        self.circuit.on_closed.append(self._is_back)
        self._store = store
        self._local = local
        self._closed = budget_without_store == "closed"
        self._first_answer = first_answer
        self._starting = True
        self._untold: Counter[str] = Counter()
        self._background = Background()

    async def take(self, bucket: str, rate: Rate) -> float:
        if self.circuit.open:
            return await self._local.take(bucket, rate)
        try:
            async with asyncio.timeout(self.circuit.timeout):
                wait = await self._store.take(bucket, rate)
        except Exception as error:  # noqa: BLE001 - whatever breaks in a store, chats go on
            self.circuit.trip("taking from a rate limit", error)
            return await self._local.take(bucket, rate)
        self._starting = False
        if wait == 0:  # so that losing the store does not give everybody a new burst
            await self._local.take(bucket, rate)
        return wait

    async def reserve(self, budget: str, amount: int, limit: int) -> bool:
        patient = self._starting and self._closed
        if patient or not self.circuit.open:
            try:
                async with asyncio.timeout(self._first_answer if patient else self.circuit.timeout):
                    fits = await self._store.reserve(budget, amount, limit)
            except Exception as error:  # noqa: BLE001 - whatever breaks in a store, chats go on
                self._starting = False
                self.circuit.trip("reserving from a budget", error)
            else:
                self._starting = self._starting and self.circuit.open
                if fits:
                    await self._local.settle(budget, amount)
                return fits
        if self._closed:
            raise StoreUnavailable("The budget's store does not answer.")
        fits = await self._local.reserve(budget, amount, limit)
        self._untold[budget] += amount if fits else 0
        return fits

    async def settle(self, budget: str, difference: int) -> None:
        await self._local.settle(budget, difference)
        self._untold[budget] += difference
        if not self.circuit.open:
            _, late = await asyncio.wait({self._tell_soon()}, timeout=self.circuit.timeout)
            if late:
                self.circuit.trip("settling a budget", TimeoutError())

    async def aclose(self) -> None:
        if self._own_circuit:
            await self.circuit.aclose()
        await self._background.aclose(self.circuit.timeout)

    def _is_back(self) -> None:
        self._starting = False
        self._tell_soon()

    def _tell_soon(self) -> asyncio.Task[None]:
        return self._background.start(self._tell())

    async def _tell(self) -> None:
        for budget in list(self._untold):
            difference = self._untold.pop(budget, 0)
            if not difference:
                continue
            try:
                async with asyncio.timeout(PATIENCE):
                    await self._store.settle(budget, difference)
            except Exception as error:  # noqa: BLE001 - whatever breaks in a store, chats go on
                # Perhaps only the answer was lost. Counting twice is safe, giving back twice not.
                self._untold[budget] += max(0, difference)
                self.circuit.trip("settling a budget", error)
                return
