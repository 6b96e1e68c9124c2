"""Guards rate limits and budgets: every wait is bounded, and memory replaces a failing store.

While the store fails, rate limits use the state of this process, and budgets go on from their last
known use. A budget whose use is not known refuses requests.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress

from kefu.chat.limits import Granted, LimitStore, Rate
from kefu.errors import StoreUnavailable
from kefu.stores.guarded.circuit import PATIENCE_SECONDS, Circuit, started
from kefu.stores.memory import MemoryStore

FIRST_ANSWER = 3.0
"""The time limit in seconds until the store's first answer about a budget. It is longer than that
of the circuit, because importing boto3 takes time."""

RESERVATION = 1.0
"""The time limit in seconds for a reservation from a budget whose use is not known."""


class GuardedLimits:
    """Wraps a LimitStore. While the store fails, the rate limits of this process apply.

    Reservations are granted within the last known rest of the budget: the rest in the store's last
    answer, less this process's use since then. While the rest is not known, reservations raise
    StoreUnavailable. Changes that the store has missed are settled when it recovers.
    """

    def __init__(
        self,
        store: LimitStore,
        local: MemoryStore,
        circuit: Circuit,
    ) -> None:
        """`circuit`: the circuit of the GuardedCooldowns for the same store."""
        self.circuit = circuit
        self.circuit.on_closed.append(self._store_recovered)
        self._store = store
        self._local = local
        self._starting = True
        self._unsettled: Counter[str] = Counter()

    async def take(self, bucket: str, rate: Rate, places: int = 1) -> float:
        try:
            wait = await self.take_shared(bucket, rate, places)
        except StoreUnavailable:
            return await self._local.take(bucket, rate, places)
        if wait == 0:  # count locally too: otherwise a store failure would grant a new burst
            await self._local.take(bucket, rate, places)
        return wait

    async def take_shared(self, bucket: str, rate: Rate, places: int = 1) -> float:
        """Like `take`, but raises StoreUnavailable when the store fails."""
        if self.circuit.open:
            raise StoreUnavailable("The store of the limits does not answer.")
        taking = self._store.take(bucket, rate, places)
        wait = await self.circuit.call("taking from a rate limit", taking)
        self._starting = False
        return wait

    async def arrival(self, bucket: str) -> float | None:
        if not self.circuit.open:
            with suppress(StoreUnavailable):
                reading = self._store.arrival(bucket)
                return await self.circuit.call("reading a rate limit", reading)
        return await self._local.arrival(bucket)

    async def reserve(self, budget: str, amount: int, limit: int) -> Granted | None:
        try:
            return await self.reserve_shared(budget, amount, limit)
        except StoreUnavailable:
            if not self._local.knows(budget):
                raise
        granted = await self._local.reserve(budget, amount, limit)
        self._unsettled[budget] += amount if granted else 0
        return granted

    async def reserve_shared(self, budget: str, amount: int, limit: int) -> Granted | None:
        """Like `reserve`, but raises StoreUnavailable when the store fails."""
        needed = not self._local.knows(budget)
        if self.circuit.open and not (needed and self._starting):
            raise StoreUnavailable("The budget's store does not answer.")
        try:
            return await self._reserve_shared(budget, amount, limit, self._limit(needed))
        except StoreUnavailable:
            self._starting = False
            raise

    def _limit(self, needed: bool) -> float:
        """The time limit of a reservation. Only a call that needs the store's answer waits long."""
        if not needed:
            return self.circuit.timeout
        return FIRST_ANSWER if self._starting else max(RESERVATION, self.circuit.timeout)

    async def _reserve_shared(
        self, budget: str, amount: int, limit: int, seconds: float
    ) -> Granted | None:
        reserving = started(self._store.reserve(budget, amount, limit))
        try:
            granted = await self.circuit.wait("reserving from a budget", reserving, seconds)
        except (StoreUnavailable, asyncio.CancelledError):
            self.circuit.start(self._return(reserving, budget, amount))
            raise
        self._starting = self._starting and self.circuit.open
        if granted:
            self._local.set_used(budget, limit - granted.left + self._unsettled[budget])
        return granted

    async def _return(
        self, reserving: asyncio.Future[Granted | None], budget: str, amount: int
    ) -> None:
        """Give back a reservation that was granted too late, and was not used."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                granted = await reserving
        except Exception:  # noqa: BLE001 - `wait` has reported it, or the store does not answer
            return
        if granted:
            self._unsettled[budget] -= amount
            if not self.circuit.open:
                await self._settle_all()

    async def settle(self, budget: str, difference: int) -> None:
        """The store is told also when the caller is cancelled, as a visitor may leave."""
        await self._local.settle(budget, difference)
        self._unsettled[budget] += difference
        if not self.circuit.open:
            await self.circuit.wait_for("settling a budget", self.circuit.start(self._settle_all()))

    def _store_recovered(self) -> None:
        self._starting = False
        self.circuit.start(self._settle_all())

    async def _settle_all(self) -> None:
        for budget in list(self._unsettled):
            difference = self._unsettled.pop(budget, 0)
            if not difference:
                continue
            settling = self._store.settle(budget, difference)
            if not await self.circuit.succeeds("settling a budget", settling):
                # The store may have applied the change. Applying a change twice is safe if it adds
                # to the budget's use. A refund applied twice could exceed the budget: drop it.
                self._unsettled[budget] += max(0, difference)
                return
