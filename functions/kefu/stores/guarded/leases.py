"""Takes the limits of a whole site in leases, so that not every chat writes to the same rows.

All chats of a site count in the same two rows: the rate of the site, and the budget of the day. A
process takes several places, or the tokens of several chats, at once, and then decides by itself.

Every token of a lease is reserved in the store, so a budget is never exceeded. What a killed
process has not used is lost for the day. All leases together have at most `LEASED_BUDGET` of a
budget. Beyond it each chat asks the store, as it does for a budget of few chats.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kefu.chat.limits import Granted, Rate, admit
from kefu.errors import StoreUnavailable
from kefu.stores.aws import RANDOM
from kefu.stores.guarded.limits import GuardedLimits

LEASE = 10
"""The requests of a lease, or the reservations of a budget's lease, at most."""

LEASED_RATE = 10
"""A lease has at most this part of a limit's requests, as a divisor."""

LEASE_OF_BUDGET = 100
"""A lease has at most this part of a budget, as a divisor."""

LEASED_BUDGET = 10
"""All leases have at most this part of a budget, as a divisor."""

IDLE_SECONDS = 600.0
"""Seconds without a chat after which a process gives its lease of a budget back."""

PAUSE_SECONDS = 1.0
"""A process that was refused asks again after this time, up to twice. Many processes would
otherwise ask for the same place at the same moment."""

SHARED = ("site", "client")
"""The kinds of buckets in which the requests of many visitors count."""


class _Places:
    """The places of one bucket that this process holds."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.left = 0
        self.until = 0.0
        """When the bucket has drained, so that unused places would exceed the rate."""
        self.asked_at = float("-inf")
        self.single_until = 0.0
        """Until then places are taken one by one: the store has no room for a whole lease."""
        self.closed_until = 0.0
        """Until then nobody is admitted: the store refused even one place."""
        self.alone: float | None = None
        """The arrival time of the requests that were admitted without the store."""


class _Tokens:
    """The tokens of one budget that this process holds."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.left = 0
        self.share = 0
        """The largest `left`, which is reserved from the part of the budget that may be leased. A
        lease begins with half of it: tokens that chats give back then have room."""
        self.single_until = float("-inf")
        """Until then no share is asked for: all of that part is leased."""
        self.used_at = 0.0


class LeasedLimits:
    """Wraps GuardedLimits. Limits that are no leases, such as those of an address, pass through."""

    def __init__(self, limits: GuardedLimits, clock: Callable[[], float]) -> None:
        """`clock` returns the Unix time in seconds."""
        self._limits = limits
        self._clock = clock
        self._places: dict[str, _Places] = {}
        self._budgets: dict[str, _Tokens] = {}
        self._idle: asyncio.TimerHandle | None = None

    async def take(self, bucket: str, rate: Rate, places: int = 1) -> float:
        """See `LimitStore.take`. Without the store, each process admits one lease a period."""
        size = min(LEASE, rate.requests // LEASED_RATE)
        if size < 2 or places > 1 or bucket.partition(":")[0] not in SHARED:
            return await self._limits.take(bucket, rate, places)
        held = self._places.setdefault(bucket, _Places())
        now = self._clock()
        try:
            async with held.lock:  # the others wait for the places that one of them takes
                if await self._has_place(held, bucket, rate, size):
                    return 0.0
            if now < held.closed_until <= now + 2 * rate.period:
                return held.closed_until - now
            wait = await self._limits.take_shared(bucket, rate)
        except StoreUnavailable:
            held.alone, wait = admit(held.alone, Rate(size, rate.period), now)
            return wait
        if wait:
            wait = max(wait, PAUSE_SECONDS * RANDOM.uniform(1, 2))
            held.closed_until = now + wait
        return wait

    async def _has_place(self, held: _Places, bucket: str, rate: Rate, size: int) -> bool:
        """Use a place of the lease, or of a new lease if the last period had a request, too."""
        now = self._clock()
        if held.left and now < held.until:
            held.left -= 1
            return True
        used, held.asked_at = now - held.asked_at < rate.period, now
        if not used or now < max(held.single_until, held.closed_until):
            return False
        if await self._limits.take_shared(bucket, rate, size):
            held.single_until = now + rate.period / LEASED_RATE
            return False
        held.left, held.until = size - 1, now + rate.period
        return True

    async def arrival(self, bucket: str) -> float | None:
        """See `LimitStore.arrival`."""
        return await self._limits.arrival(bucket)

    async def reserve(self, budget: str, amount: int, limit: int) -> Granted | None:
        """See `LimitStore.reserve`. Without the store, a process goes on within its lease.

        Raises StoreUnavailable.
        """
        size = min(limit // LEASE_OF_BUDGET // 2, LEASE * amount)
        if size < amount:
            return await self._limits.reserve(budget, amount, limit)
        if budget not in self._budgets:
            self._budgets = {budget: _Tokens()}  # without those of the day before
        held = self._budgets[budget]
        async with held.lock:
            held.used_at = self._clock()
            if held.left >= amount or await self._fetch_tokens(held, budget, size, limit):
                held.left -= amount
                return Granted(held.left)
        return await self._limits.reserve_shared(budget, amount, limit)

    async def _fetch_tokens(self, held: _Tokens, budget: str, size: int, limit: int) -> bool:
        """Fill the lease up to `size` tokens. False if the store does not grant it."""
        if held.share < 2 * size:
            if self._clock() < held.single_until:
                return False
            whole, more = limit // LEASED_BUDGET, 2 * size - held.share
            if not await self._limits.reserve_shared(_leased(budget), more, whole):
                held.single_until = self._clock() + IDLE_SECONDS
                return False
            held.share = 2 * size
            self._look_later()
        more = size - held.left
        if not await self._limits.reserve_shared(budget, more, limit):
            return False
        held.left += more  # others may have given tokens back meanwhile
        return True

    async def settle(self, budget: str, difference: int) -> None:
        """See `LimitStore.settle`. The lease takes what it has room for."""
        held = self._budgets.get(budget)
        if held is None or not held.share:
            await self._limits.settle(budget, difference)
            return
        left = held.left - difference
        if 0 <= left <= held.share:
            held.left = left
            return
        held.left = held.share // 2 if left > 0 else 0
        await self._limits.settle(budget, held.left - left)

    async def give_back(self) -> None:
        """Give all tokens back that are not in use."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        for budget, held in self._budgets.items():
            async with held.lock:
                left, share, held.left, held.share = held.left, held.share, 0, 0
                if share:
                    await self._limits.settle(budget, -left)
                    await self._limits.settle(_leased(budget), -share)

    def _look_later(self) -> None:
        if self._idle is None:
            self._idle = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._look)

    def _look(self) -> None:
        """Give the tokens back if no chat has used them for `IDLE_SECONDS`."""
        self._idle = None
        used_at = max((one.used_at for one in self._budgets.values()), default=0.0)
        if self._clock() - used_at < IDLE_SECONDS:
            self._look_later()
        else:
            self._limits.circuit.start(self.give_back())


def _leased(budget: str) -> str:
    """The name of the budget in which the shares of all processes count."""
    return f"{budget}:leased"
