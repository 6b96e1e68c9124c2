"""Decides whether a request may start: rate limits, daily token budget, concurrent answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import IPv6Network
from math import ceil
from typing import NamedTuple

from kefu.chat.limits import LimitStore, Rate
from kefu.errors import BudgetExhausted, RateLimited, StoreUnavailable, UpstreamUnavailable
from kefu.relay.call import Clock

_BUSY = "Too many requests right now. Please wait a moment."
_NAMES = {"ip": "address", "session": "chat"}
"""Names of limits for the log, where they are not the kind of the bucket."""

SITE = 64
"""Bits of an IPv6 address that its owner cannot choose. A household has a /64 or more: RFC 6177."""

BOT_CHECK_RATE = Rate(10, 60)
"""Bot checks of one IP address. Each check is a request to the provider, even for a bad token."""
CHECKS_AT_ONCE = 2
"""Concurrent bot checks of one IP address, so that one address cannot use up the connections to the
provider.
"""

POLL_RATE = Rate(60, 60)
"""Requests for new lines of a person in one stored chat. An open widget sends 15 in a minute."""

CONTACT_RATE = Rate(10, 3600)
"""Requests for a person of one address, if addresses have a limit at all."""
CHAT_CONTACTS = Rate(3, 3600)
"""Requests for a person in one stored chat."""

TRANSLATION_RATE = Rate(60, 60)
"""Translations for operators in one stored chat."""

TOOL_RATE = Rate(60, 600)
"""Calls of tools for one address; in one stored chat if addresses have no limit."""
CARD_RATE = Rate(5, 3600)
"""Cards in one stored chat that ask its visitor to approve a call."""

WRONG_KEYS = Rate(10, 600)
"""Wrong keys of one address; after these it gets 429 in place of 401."""


class Allowance(NamedTuple):
    """The limits of a site; None or 0 means no limit."""

    per_ip: Rate | None = None
    site: Rate | None = None
    per_session: Rate | None = None
    per_client: Rate | None = None
    """Limits for each client key of `/v1`."""
    daily_tokens: int = 0
    streams: int = 1000
    """Concurrent answers of this process."""
    streams_per_ip: int = 0
    """Concurrent answers of this process for one IP address."""


class _Process:
    """The requests in progress, which all sites of a process share."""

    def __init__(self) -> None:
        self.running: Counter[str] = Counter()
        self.checking: Counter[str] = Counter()
        self.closed = False


class Admission:
    """Applies the limits of a site. Limits of an IP address count its network: see `network_of`."""

    def __init__(
        self,
        store: LimitStore,
        clock: Clock,
        allowance: Allowance,
        process: _Process | None = None,
        *,
        site: str = "",
        budget: str = "tokens",
    ) -> None:
        self._store = store
        self._clock = clock
        self._allowance = allowance
        self._process = process or _Process()
        self._running, self._checking = self._process.running, self._process.checking
        self._site = f"site:{site}" if site else "site"
        self._budget = budget

    def of_site(self, name: str, daily_tokens: int | None) -> Admission:
        """The limits of one of several sites, which counts its requests alone.

        `daily_tokens`: the site's own budget; 0: no limit; None: it shares that of the service.
        Concurrent answers, visitors and chats are counted together.
        """
        allowance, budget = self._allowance, self._budget
        if daily_tokens is not None:
            allowance, budget = allowance._replace(daily_tokens=daily_tokens), f"tokens:{name}"
        return Admission(
            self._store, self._clock, allowance, self._process, site=name, budget=budget
        )

    @property
    def closed(self) -> bool:
        """Whether the server shuts down; `slot` then refuses all requests."""
        return self._process.closed

    def close(self) -> None:
        self._process.closed = True

    @contextmanager
    def slot(self, ip: str) -> Iterator[None]:
        """Count one concurrent answer of this process and of the IP address.

        Raises UpstreamUnavailable at the process's limit, RateLimited at the address's limit.
        """
        allowed, ip = self._allowance, network_of(ip)
        if self._process.closed or self._running.total() >= allowed.streams:
            raise UpstreamUnavailable("The server is busy. Please try again.", retry_after=1)
        if allowed.streams_per_ip and self._running[ip] >= allowed.streams_per_ip:
            raise RateLimited(_BUSY, limit="answers of the address", retry_after=1)
        with _counted(self._running, ip):
            yield

    @asynccontextmanager
    async def checking(self, ip: str) -> AsyncIterator[None]:
        """Count one bot check of the IP address, in its rate and among its concurrent checks.

        Bot checks have limits of their own, because all other limits count only visitors who have
        passed the check. Raises RateLimited.
        """
        ip = network_of(ip)
        if self._checking[ip] >= CHECKS_AT_ONCE:
            raise RateLimited(_BUSY, limit="check", retry_after=1)
        with _counted(self._checking, ip):
            await self._take(f"check:{ip}", BOT_CHECK_RATE)
            yield

    async def admit_address(self, ip: str) -> None:
        """Count one request of an IP address. Raises RateLimited with the time to wait.

        Callers check the address, then the session, then the site. A refused request is not counted
        by the later limits.
        """
        await self._take(f"ip:{network_of(ip)}", self._allowance.per_ip)

    async def admit_client(self, name: str) -> None:
        """Count one request of a client of `/v1`, in place of its address. Raises RateLimited."""
        await self._take(f"client:{name}", self._allowance.per_client)

    async def admit_wrong_key(self, ip: str) -> None:
        """Count a wrong key of an address. Raises RateLimited."""
        await self._take(f"wrong key:{network_of(ip)}", WRONG_KEYS)

    async def admit_session(self, session: str) -> None:
        """Count one message in the rate limit of its stored chat. Raises RateLimited.

        Callers check the session token before.
        """
        await self._take(f"session:{session}", self._allowance.per_session)

    async def admit_site(self) -> None:
        """Count one request in the rate limit of the whole site. Raises RateLimited."""
        await self._take(self._site, self._allowance.site)

    async def admit_reader(self, session: str) -> None:
        """Count one read of a stored chat, separately from its messages. Raises RateLimited."""
        await self._take(f"reader:{session}", self._allowance.per_session)

    async def admit_poll(self, session: str) -> None:
        """Count one request for new lines of a person in a stored chat. Raises RateLimited."""
        await self._take(f"poll:{session}", POLL_RATE)

    async def last_poll(self, session: str) -> float | None:
        """When a page asked last for new lines of a person; None after about ten minutes."""
        arrival = await self._store.arrival(f"poll:{session}")
        return None if arrival is None else arrival - POLL_RATE.interval

    async def admit_contact(self, ip: str, session: str) -> None:
        """Count a request for a person, of a stored chat if `session` is not "".

        Raises RateLimited.
        """
        await self._take(f"contact:{network_of(ip)}", self._allowance.per_ip and CONTACT_RATE)
        if session:
            await self._take(f"contact of chat:{session}", CHAT_CONTACTS)
        await self.admit_site()

    async def admit_tool(self, ip: str, session: str) -> None:
        """Count a call of a tool. Raises RateLimited.

        `session`: the stored chat, or "". Its calls count only if addresses have no limit.
        """
        if self._allowance.per_ip:
            await self._take(f"tool:{network_of(ip)}", TOOL_RATE)
        elif session:
            await self._take(f"tool of chat:{session}", TOOL_RATE)

    async def admit_translation(self, session: str) -> None:
        """Count a translation in a stored chat. Raises RateLimited."""
        await self._take(f"translation:{session}", TRANSLATION_RATE)

    async def admit_card(self, session: str) -> None:
        """Count a card in a stored chat. Raises RateLimited."""
        await self._take(f"card:{session}", CARD_RATE)

    async def admit_note(self, ip: str) -> None:
        """Count a cancellation, or a rating without a session. Raises RateLimited.

        Each of these requests writes a log line, so their number is limited, too.
        """
        await self._take(f"note:{network_of(ip)}", self._allowance.per_ip)

    async def _take(self, bucket: str, rate: Rate | None) -> None:
        if rate and (wait := await self._store.take(bucket, rate)) > 0:
            kind = bucket.partition(":")[0]
            limit = _NAMES.get(kind, kind)
            raise RateLimited(_BUSY, limit=limit, retry_after=max(1, ceil(wait)))

    @asynccontextmanager
    async def budget(self, at_most: int, spent: Callable[[], int]) -> AsyncIterator[None]:
        """Reserve `at_most` tokens of today's budget; on exit, correct this to `spent()` tokens.

        Raises BudgetExhausted, and UpstreamUnavailable when the store fails.
        """
        if not self._allowance.daily_tokens:
            yield
            return
        today = datetime.fromtimestamp(self._clock.now(), UTC)
        budget = f"{self._budget}:{today:%Y-%m-%d}"
        await self._reserve(budget, today, at_most)
        try:
            yield
        finally:
            if difference := spent() - at_most:
                # The guard of a store ends this also when the visitor leaves meanwhile.
                with suppress(StoreUnavailable):
                    await self._store.settle(budget, difference)

    async def _reserve(self, budget: str, today: datetime, tokens: int) -> None:
        try:
            granted = await self._store.reserve(budget, tokens, self._allowance.daily_tokens)
        except StoreUnavailable as error:
            raise UpstreamUnavailable(
                "The service cannot check its budget now.", retry_after=5
            ) from error
        if not granted:
            midnight = (today + timedelta(days=1)).replace(hour=0, minute=0, second=0)
            wait = ceil((midnight - today).total_seconds())
            message = "The budget for today is spent. Please come back tomorrow."
            raise BudgetExhausted(message, retry_after=max(1, wait), should_retry=False)


def network_of(address: str) -> str:
    """Return the network that a rate limit counts: the /64 of an IPv6 address, else the address.

    One client can use any address of its /64.
    """
    if ":" not in address:
        return address
    try:
        return str(IPv6Network((address, SITE), strict=False))
    except ValueError:
        return address


@contextmanager
def _counted(running: Counter[str], ip: str) -> Iterator[None]:
    running[ip] += 1
    try:
        yield
    finally:
        running[ip] -= 1
        if not running[ip]:
            del running[ip]
