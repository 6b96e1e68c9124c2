"""Shares cooldowns and limits between all instances on AWS, in one DynamoDB table.

The table has a partition key `pk` and a sort key `sk`, both strings, and the TTL attribute
`expires`. All cooldowns of a pool are ONE item, so that one GetItem reads them. In this item the
attribute `FINGERPRINT` is the deadline of a key, and `reason_FINGERPRINT` is the reason. Each
bucket and each budget is an item with one number.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kefu.chat.limits import KEPT_SECONDS, SLACK_SECONDS, Granted, Rate, admit, far_from
from kefu.errors import StoreUnavailable
from kefu.relay.key_pool import Cooldown, Cooldowns, Fingerprint
from kefu.stores import deadlines
from kefu.stores.dynamodb.table import Change, Row, Table, number, number_in

if TYPE_CHECKING:
    from kefu.sessions.store.model import Retention
    from kefu.stores.dynamodb.sessions import DynamoSessions
    from kefu.stores.dynamodb.table import Item, Values

DAY_SECONDS: Final = 86400
POOL: Final = Row("pool", "cooldowns")
REASON: Final = "reason_"
MAX_TAKE_ATTEMPTS: Final = 4
"""The number of attempts of `take` when concurrent writers change the bucket.

A second attempt is only needed if the bucket was drained, used and drained again in one call."""


class DynamoStore:
    """Every method raises StoreUnavailable if DynamoDB fails, throttles or is too slow.

    If only the response was lost, a retry may count a request twice, so a limit is reached early.
    A refund is never retried, because a second refund could exceed the limit.
    """

    def __init__(
        self,
        table: str,
        clock: Callable[[], float],
        *,
        endpoint: str | None = None,
    ) -> None:
        """`endpoint`: a URL. None: boto3 uses AWS_ENDPOINT_URL_DYNAMODB or the region."""
        self._table = Table(table, endpoint)
        self._clock = clock

    @property
    def table(self) -> str:
        """The name of the table."""
        return self._table.name

    def warm(self) -> None:
        """Start importing boto3 and connecting in a thread. Returns at once, and never raises."""
        self._table.start(self._read_pool)

    def sessions(self, retention: Retention) -> DynamoSessions:
        """Return a session store in the same table, which shares this store's connections."""
        from kefu.stores.dynamodb.sessions import DynamoSessions

        return DynamoSessions(self._table, self._clock, retention)

    async def disconnect(self) -> None:
        """Close the connections when the running calls have ended. The next call reconnects."""
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
                # Later than every deadline in the item: a cooldown lasts at most a day.
                ":expires": number(int(cooldown.until) + DAY_SECONDS),
            },
        )

        def work() -> Cooldowns:
            _, item = self._table.update(POOL, change)
            return _cooldowns_in(item or self._table.read(POOL))

        return await self._table.run(work)

    async def take(self, bucket: str, rate: Rate, places: int = 1) -> float:
        now = self._clock()
        return await self._table.run(lambda: self._take(bucket, rate, places, now))

    async def arrival(self, bucket: str) -> float | None:
        row = Row(f"rate#{bucket}", "limit")
        found = await self._table.run(lambda: self._table.read(row, consistent=False))
        return number_in(found, "arrival")

    async def reserve(self, budget: str, amount: int, limit: int) -> Granted | None:
        room = limit - amount
        fits = "attribute_not_exists(#used) OR #used <= :room" if room >= 0 else "#used <= :room"
        used = await self._spend(budget, amount, fits, {":room": number(room)})
        return None if used is None else Granted(limit - used)

    async def settle(self, budget: str, difference: int) -> None:
        await self._spend(budget, difference, None, {})

    def _take(self, bucket: str, rate: Rate, places: int, now: float) -> float:
        """Implement `admit` with conditional updates. Returns the seconds to wait; 0: admitted.

        A drained bucket needs one update, a bucket in use needs two (see `_changes`).
        """
        row = Row(f"rate#{bucket}", "limit")
        fresh, used = _changes(rate, places, now)
        for _ in range(MAX_TAKE_ATTEMPTS):
            done, item = self._table.update(row, fresh)
            if done:
                return 0.0
            # A bucket in use may still admit the request: the second update checks this.
            if wait := _wait(item, rate, places, now):
                return wait
            done, item = self._table.update(row, used)
            if done:
                return 0.0
            item = item or self._table.read(row)
            if (number_in(item, "arrival") or 0.0) >= now:
                return max(_wait(item, rate, places, now), SLACK_SECONDS)
        raise StoreUnavailable("DynamoDB: too many writers for one bucket")

    async def _spend(
        self, budget: str, amount: int, fits: str | None, values: Values
    ) -> int | None:
        """Return the new use of the budget; None if the condition `fits` does not hold."""
        expires = number(int(self._clock()) + 2 * DAY_SECONDS)
        change = Change(
            "SET #expires = :expires ADD #used :amount",
            fits,
            {"#used": "used", "#expires": "expires"},
            {":amount": number(amount), ":expires": expires, **values},
        )
        row = Row(f"budget#{budget}", "limit")
        done, item = await self._table.run(
            lambda: self._table.update(row, change), tries=1 if amount < 0 else 2
        )
        return int(number_in(item, "used") or 0) if done else None

    def _read_pool(self) -> Cooldowns:
        return _cooldowns_in(self._table.read(POOL, consistent=False))


def _changes(rate: Rate, places: int, now: float) -> tuple[Change, Change]:
    """Return the updates that admit the requests: for a drained bucket, and for a bucket in use.

    A bucket is drained when its `arrival` has passed, so that its whole burst is available.
    """
    names = {"#arrival": "arrival", "#expires": "expires"}
    expires, cost = number(int(now + rate.period + KEPT_SECONDS)), places * rate.interval
    fresh = Change(
        "SET #arrival = :next, #expires = :expires",
        "attribute_not_exists(#arrival) OR #arrival < :now OR #arrival > :far",
        names,
        {
            ":now": number(now),
            ":far": number(far_from(rate, now)),
            ":next": number(now + cost),
            ":expires": expires,
        },
    )
    used = Change(
        "SET #arrival = #arrival + :cost, #expires = :expires",
        "#arrival >= :now AND #arrival <= :latest",
        names,
        {
            ":now": number(now),
            ":cost": number(cost),
            ":latest": number(now + rate.ahead(places) + SLACK_SECONDS),
            ":expires": expires,
        },
    )
    return fresh, used


def _wait(item: Item, rate: Rate, places: int, now: float) -> float:
    """Return the seconds until the bucket admits the requests; 0: it does now."""
    return admit(number_in(item, "arrival"), rate, now, places)[1]


def _cooldowns_in(item: Item) -> Cooldowns:
    """Parse the cooldowns of a pool's item.

    Attributes without a `reason_` counterpart, such as `pk` and `expires`, are skipped.
    """
    return {
        Fingerprint(name): Cooldown(until, deadlines.reason_of(item[REASON + name].get("S", "")))
        for name in item
        if REASON + name in item and (until := number_in(item, name)) is not None
    }
