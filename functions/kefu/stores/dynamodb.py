"""State shared by all instances on AWS, in one DynamoDB table.

The table has a partition key `pk` and a sort key `sk`, both strings, and the TTL attribute
`expires`. One pool's cooldowns are ONE item, so that reading them is one GetItem: an attribute per
key fingerprint holds its deadline, `reason_FINGERPRINT` says why. A bucket or a budget is an item
with one number.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kefu.errors import StoreUnavailable
from kefu.keypool import Cooldown, Cooldowns, Fingerprint
from kefu.limits import SLACK, Rate, admit, far_from
from kefu.stores import deadlines
from kefu.stores.dynamodb_table import Change, Row, Table, number, number_in

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from kefu.sessions import Retention
    from kefu.stores.dynamodb_sessions import DynamoSessions
    from kefu.stores.dynamodb_table import Item, Values

DAY: Final = 86400
REASON: Final = "reason_"
TURNS: Final = 4
"""How often `take` looks again because another writer changed the bucket in between. A second time
needs a bucket that was drained, used and drained again within one call."""


class DynamoStore:
    """Every method raises StoreUnavailable when DynamoDB fails, throttles or is too slow.

    When only an answer was lost, a second try may count twice, so that a limit is reached early.
    What gives back is tried once: a limit is never passed.
    """

    def __init__(
        self,
        table: str,
        clock: Callable[[], float],
        *,
        pool: str = "pool",
        endpoint: str | None = None,
    ) -> None:
        """`endpoint` None: as boto3 finds it, in AWS_ENDPOINT_URL_DYNAMODB or by the region."""
        self._table = Table(table, endpoint)
        self._pool = Row(pool, "cooldowns")
        self._clock = clock

    @property
    def table(self) -> str:
        """Its name."""
        return self._table.name

    def warm(self) -> None:
        """Start loading boto3 and connecting; returns at once, and never fails."""
        self._table.start(self._read_pool)

    def sessions(self, retention: Retention) -> DynamoSessions:
        """Chats kept in the same table, with this store's connections."""
        from kefu.stores.dynamodb_sessions import DynamoSessions

        return DynamoSessions(self._table, self._clock, retention)

    async def create_table(self, *, with_ttl: bool = True) -> None:
        """Create the table, ready for use. `with_ttl=False`: for engines that know no TTL."""
        await self._table.run(lambda client: self._table.create(client, with_ttl=with_ttl))

    async def disconnect(self) -> None:
        """Close the connections once the calls under way have ended; the next call opens new."""
        await asyncio.to_thread(self._table.disconnect)

    async def aclose(self) -> None:
        self._table.close()

    async def cooldowns(self) -> Cooldowns:
        return await self._table.run(self._read_pool)

    async def cool(self, key: Fingerprint, cooldown: Cooldown) -> Cooldowns:
        change = Change(
            "SET #key = :until, #reason = :reason, #expires = :expires",
            "attribute_not_exists(#key) OR #key < :until OR #key > :far",
            {"#key": key, "#reason": REASON + key, "#expires": "expires"},
            {
                ":until": number(cooldown.until),
                ":far": number(deadlines.far_from(self._clock())),
                ":reason": {"S": cooldown.reason.value},
                # No other key of the pool may rest longer than a day.
                ":expires": number(int(cooldown.until) + DAY),
            },
        )

        def work(client: DynamoDBClient) -> Cooldowns:
            _, item = self._table.update(client, self._pool, change)
            return _cooldowns_in(item or self._table.read(client, self._pool, consistent=True))

        return await self._table.run(work)

    async def take(self, bucket: str, rate: Rate) -> float:
        now = self._clock()
        return await self._table.run(lambda client: self._take(client, bucket, rate, now))

    async def reserve(self, budget: str, amount: int, limit: int) -> bool:
        room = limit - amount
        fits = "attribute_not_exists(#used) OR #used <= :room" if room >= 0 else "#used <= :room"
        return await self._spend(budget, amount, fits, {":room": number(room)})

    async def settle(self, budget: str, difference: int) -> None:
        await self._spend(budget, difference, None, {})

    def _take(self, client: DynamoDBClient, bucket: str, rate: Rate, now: float) -> float:
        """`admit` in conditional updates: one call for a drained bucket, two for a used one."""
        row = Row(f"rate#{bucket}", "limit")
        fresh, used = _changes(rate, now)
        for _ in range(TURNS):
            done, item = self._table.update(client, row, fresh)
            if done:
                return 0.0
            # In use. Without the old item only the second update can tell whether it is full.
            if wait := _wait(item, rate, now):
                return wait
            done, item = self._table.update(client, row, used)
            if done:
                return 0.0
            item = item or self._table.read(client, row, consistent=True)
            if (number_in(item, "arrival") or 0.0) >= now:
                return max(_wait(item, rate, now), SLACK)
        raise StoreUnavailable("DynamoDB: too many writers for one bucket")

    async def _spend(self, budget: str, amount: int, fits: str | None, values: Values) -> bool:
        expires = number(int(self._clock()) + 2 * DAY)
        change = Change(
            "SET #expires = :expires ADD #used :amount",
            fits,
            {"#used": "used", "#expires": "expires"},
            {":amount": number(amount), ":expires": expires, **values},
        )
        row = Row(f"budget#{budget}", "limit")
        spent, _ = await self._table.run(
            lambda client: self._table.update(client, row, change), tries=1 if amount < 0 else 2
        )
        return spent

    def _read_pool(self, client: DynamoDBClient) -> Cooldowns:
        return _cooldowns_in(self._table.read(client, self._pool, consistent=False))


def _changes(rate: Rate, now: float) -> tuple[Change, Change]:
    """What lets one request pass: through a drained bucket, and through one in use."""
    names = {"#arrival": "arrival", "#expires": "expires"}
    expires = number(int(now + rate.period) + 60)
    fresh = Change(
        "SET #arrival = :next, #expires = :expires",
        "attribute_not_exists(#arrival) OR #arrival < :now OR #arrival > :far",
        names,
        {
            ":now": number(now),
            ":far": number(far_from(rate, now)),
            ":next": number(now + rate.interval),
            ":expires": expires,
        },
    )
    used = Change(
        "SET #arrival = #arrival + :interval, #expires = :expires",
        "#arrival >= :now AND #arrival <= :latest",
        names,
        {
            ":now": number(now),
            ":interval": number(rate.interval),
            ":latest": number(now + rate.period - rate.interval + SLACK),
            ":expires": expires,
        },
    )
    return fresh, used


def _wait(item: Item, rate: Rate, now: float) -> float:
    """Seconds until the bucket takes one more; 0: it does now."""
    return admit(number_in(item, "arrival"), rate, now)[1]


def _cooldowns_in(item: Item) -> Cooldowns:
    """Attributes without a reason of their own (pk, expires, a later version's) are no keys."""
    return {
        Fingerprint(name): Cooldown(until, deadlines.reason_of(item[REASON + name].get("S", "")))
        for name in item
        if REASON + name in item and (until := number_in(item, name)) is not None
    }
