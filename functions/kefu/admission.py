"""Who may start a chat now: rate limits, the daily token budget, and how many run at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil

from kefu.answer import Clock
from kefu.errors import RateLimited, StoreUnavailable, UpstreamUnavailable
from kefu.lean_typing import NamedTuple
from kefu.limits import LimitStore, Rate

_BUSY = "Too many requests right now. Please wait a moment."


class Allowance(NamedTuple):
    """All limits; None or 0: no limit."""

    per_ip: Rate | None = None
    site: Rate | None = None
    per_session: Rate | None = None
    daily_tokens: int = 0
    streams: int = 1000
    streams_per_ip: int = 0


@dataclass(slots=True, eq=False, repr=False)
class Reservation:
    """Tokens taken from a day's budget before the model is asked; settled afterwards."""

    budget: str
    tokens: int


class Admission:
    def __init__(self, store: LimitStore, clock: Clock, allowance: Allowance) -> None:
        self._store = store
        self._clock = clock
        self._allowance = allowance
        self._running: Counter[str] = Counter()
        self.closed = False
        """Set when the server is going away: nobody new is let in."""

    @contextmanager
    def slot(self, ip: str) -> Iterator[None]:
        """Hold one of the places for running chats.

        Raises UpstreamUnavailable when the process is full, RateLimited when the address is.
        """
        allowed = self._allowance
        if self.closed or self._running.total() >= allowed.streams:
            raise UpstreamUnavailable("The server is busy. Please try again.", retry_after=1)
        if allowed.streams_per_ip and self._running[ip] >= allowed.streams_per_ip:
            raise RateLimited(_BUSY, retry_after=1)
        self._running[ip] += 1
        try:
            yield
        finally:
            self._running[ip] -= 1
            if not self._running[ip]:
                del self._running[ip]

    async def admit(self, ip: str) -> None:
        """Count one chat against the rates. Raises RateLimited with the time to wait."""
        takes = []
        if rate := self._allowance.per_ip:
            takes.append(self._store.take(f"ip:{ip}", rate))
        if rate := self._allowance.site:
            takes.append(self._store.take("site", rate))
        if not takes:
            return
        waits = [await takes[0]] if len(takes) == 1 else await asyncio.gather(*takes)
        if (wait := max(waits)) > 0:
            raise RateLimited(_BUSY, retry_after=max(1, ceil(wait)))

    async def admit_to(self, session: str, *, writing: bool) -> None:
        """The same for one chat, which the visitor has shown to be theirs: messages are counted
        apart from looks into it, of which there may be as many.
        """
        if rate := self._allowance.per_session:
            bucket = f"session:{session}" if writing else f"reader:{session}"
            if (wait := await self._store.take(bucket, rate)) > 0:
                raise RateLimited(_BUSY, retry_after=max(1, ceil(wait)))

    async def reserve(self, tokens: int) -> Reservation | None:
        """Take `tokens` from today's budget. Raises RateLimited when it is spent.

        Raises UpstreamUnavailable when it cannot be checked and may not be exceeded unchecked.
        """
        limit = self._allowance.daily_tokens
        if not limit:
            return None
        today = datetime.fromtimestamp(self._clock.now(), UTC)
        budget = f"tokens:{today:%Y-%m-%d}"
        try:
            granted = await self._store.reserve(budget, tokens, limit)
        except StoreUnavailable as error:
            raise UpstreamUnavailable(
                "The service cannot check its budget now.", retry_after=5
            ) from error
        if not granted:
            midnight = (today + timedelta(days=1)).replace(hour=0, minute=0, second=0)
            wait = ceil((midnight - today).total_seconds())
            message = "The budget for today is spent. Please come back tomorrow."
            raise RateLimited(message, retry_after=max(1, wait), should_retry=False)
        return Reservation(budget, tokens)

    async def settle(self, reservation: Reservation | None, used: int) -> None:
        """Correct a reservation by the tokens really used. A store that is down is no error."""
        if reservation and used != reservation.tokens:
            try:
                await self._store.settle(reservation.budget, used - reservation.tokens)
            except StoreUnavailable:
                return
