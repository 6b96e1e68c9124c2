"""Cooldowns shared by all instances against each instance's own memory, in virtual time.

The key pool, the relay, the guard and the store are the real ones; the clock, the provider with its
limits and the visitors are made up here. Every chat is one call of `Relay.start`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.virtual_time import VirtualClock, run
from kefu.answer import Call
from kefu.completion import Completion
from kefu.errors import KefuError
from kefu.keypool import Cooldown, Cooldowns, CooldownStore, Fingerprint, KeyPool
from kefu.relay import Relay
from kefu.stores.guarded import GuardedCooldowns
from kefu.stores.memory import MemoryStore

KEYS = 6
PER_MINUTE = 20
"""Calls a minute that one key, or one address, may make; as many at once."""
LIFE = 600.0
"""Seconds after which an instance is replaced by one that knows nothing."""
STORE_SECONDS = 0.008
CALL_SECONDS = 0.15

ANSWER = (
    b'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)


@dataclass(frozen=True)
class Scenario:
    name: str
    demand: float
    """Chats, as a share of what all keys together may answer."""
    by_address: bool = False
    """The provider counts addresses, one for each instance, not keys."""
    barred: bool = False
    """The provider answers 429 to every fourth address, whatever the key."""
    counts_refused: bool = False
    """Calls that are refused use up the limit, too."""
    spent: int = 0
    """So many keys have used up their day and answer 429 to everything."""
    cooldown: float = 60.0

    @property
    def chats_per_second(self) -> float:
        return self.demand * KEYS * PER_MINUTE / 60


SCENARIOS = (
    Scenario("four of six keys have spent their day", 0.25, spent=4),
    Scenario("more chats than the keys allow", 1.3),
    Scenario("the same, and keys rest for 5 s", 1.3, cooldown=5),
    Scenario("the same, and refused calls count", 1.3, counts_refused=True),
    Scenario("the provider limits addresses, not keys", 1.3, by_address=True),
    Scenario("one address in four is refused everything", 0.5, barred=True),
)
INSTANCES = (1, 4, 16, 64)


@dataclass
class Outcome:
    """What came of one run."""

    chats: int = 0
    failed: int = 0
    refused: int = 0
    """Upstream calls that were answered 429."""
    reads: float = 0.0
    """DynamoDB's units, by the calls of the real store: benchmarks/units.py counts them."""
    writes: int = 0

    def per_1000(self, value: float) -> float:
        return 1000 * value / self.chats


class Provider:
    """Token buckets, refilled evenly."""

    def __init__(self, scenario: Scenario, keys: Sequence[str]) -> None:
        self._scenario = scenario
        self._spent = frozenset(keys[: scenario.spent])
        self._buckets: dict[str | int, tuple[float, float]] = {}

    def allows(self, key: str, address: int, now: float) -> bool:
        if key in self._spent or (self._scenario.barred and address % 4 == 3):
            return False
        name = address if self._scenario.by_address else key
        left, at = self._buckets.get(name, (float(PER_MINUTE), now))
        left = min(PER_MINUTE, left + (now - at) * PER_MINUTE / 60)
        allowed = left >= 1
        if allowed or self._scenario.counts_refused:
            left = max(0.0, left - 1)
        self._buckets[name] = (left, now)
        return allowed


@dataclass
class Response:
    status: int
    headers: Mapping[str, str]
    parts: list[bytes]

    async def read(self, timeout: float) -> bytes:
        return self.parts.pop() if self.parts else b""

    def close(self) -> None:
        """Nothing is open."""

    def finish(self) -> None:
        """Nothing is open."""


@dataclass
class Upstream:
    """The provider as one instance reaches it."""

    provider: Provider
    address: int
    outcome: Outcome

    async def send(self, body: bytes, secret: str) -> Response:
        await asyncio.sleep(CALL_SECONDS)
        if self.provider.allows(secret, self.address, VirtualClock().now()):
            return Response(200, {"content-type": "text/event-stream"}, [ANSWER])
        self.outcome.refused += 1
        return Response(429, {"content-type": "application/json"}, [b"{}"])


@dataclass
class Metered:
    """A shared store, as far away as DynamoDB, and what it is asked."""

    store: CooldownStore
    outcome: Outcome

    async def cooldowns(self) -> Cooldowns:
        self.outcome.reads += 0.5
        await asyncio.sleep(STORE_SECONDS)
        return await self.store.cooldowns()

    async def cool(self, key: Fingerprint, cooldown: Cooldown) -> Cooldowns:
        self.outcome.writes += 1
        await asyncio.sleep(STORE_SECONDS)
        return await self.store.cool(key, cooldown)


class Instance:
    """One process: a relay of its own, and its view of the keys."""

    def __init__(self, site: Site, number: int) -> None:
        clock = VirtualClock()
        self.since = clock.now()
        self.guard: GuardedCooldowns | None = None
        cooldowns: CooldownStore = MemoryStore(clock.now)
        if site.shared:
            self.guard = GuardedCooldowns(site.shared, clock.now, on_degraded=_not_here)
            cooldowns = self.guard
        upstream = Upstream(site.provider, number, site.outcome)
        pool, rest = KeyPool(site.keys), site.scenario.cooldown
        self.relay = Relay(upstream, pool, cooldowns, clock, cooldown=rest)

    async def chat(self) -> bool:
        """Whether it was answered."""
        if self.guard:
            self.guard.prefetch()
        call = Call(b"", Completion("1", "m", 1), VirtualClock().monotonic())
        try:
            answer = await self.relay.start(call)
        except KefuError:
            return False
        async for _ in answer.batches():
            pass
        return True

    async def aclose(self) -> None:
        if self.guard:
            await self.guard.aclose()


class Site:
    """Some instances behind one door, each chat at any of them."""

    def __init__(self, scenario: Scenario, instances: int, *, shared: bool) -> None:
        self.scenario = scenario
        self.outcome = Outcome()
        self.keys = [f"sk-{number:02}-made-up" for number in range(KEYS)]
        self.provider = Provider(scenario, self.keys)
        self.shared = Metered(MemoryStore(VirtualClock().now), self.outcome) if shared else None
        self._dice = random.Random(scenario.name)
        self._instances = [Instance(self, number) for number in range(instances)]
        # Not all of one age.
        for number, instance in enumerate(self._instances):
            instance.since -= LIFE * number / instances

    async def run(self, seconds: float) -> Outcome:
        clock, chats = VirtualClock(), set[asyncio.Task[None]]()
        while clock.monotonic() < seconds:
            await asyncio.sleep(self._dice.expovariate(self.scenario.chats_per_second))
            chat = asyncio.create_task(self._chat(self._dice.randrange(len(self._instances))))
            chats.add(chat)
            chat.add_done_callback(chats.discard)
        await asyncio.gather(*chats)
        for instance in self._instances:
            await instance.aclose()
        return self.outcome

    async def _chat(self, number: int) -> None:
        instance = self._instances[number]
        if VirtualClock().now() - instance.since > LIFE:
            self._instances[number] = Instance(self, number)
            await instance.aclose()
        answered = await self._instances[number].chat()
        self.outcome.chats += 1
        self.outcome.failed += not answered


def _not_here(what: str) -> None:
    raise AssertionError(f"this store never fails: {what}")


def simulate(scenario: Scenario, instances: int, *, shared: bool, minutes: float) -> Outcome:
    async def work() -> Outcome:
        return await Site(scenario, instances, shared=shared).run(60 * minutes)

    return run(work())
