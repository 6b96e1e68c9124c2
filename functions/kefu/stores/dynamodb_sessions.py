"""Chats kept in a DynamoDB table, with the lists that operators see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from kefu.sessions import Day, Overview, Page, Wanted
from kefu.stores import dynamodb_items as items
from kefu.stores.dynamodb_calls import DAY, DynamoCalls
from kefu.stores.dynamodb_table import Row
from kefu.stores.turns import FAR, cursor_after, date_of, position, wants

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from kefu.stores.dynamodb_table import Item

AT_ONCE: Final = 1000
"""Sessions looked at for one page of a list."""

AHEAD: Final = 3600.0
"""Seconds by which the clock of the instance that listed a session may be ahead of this one."""

Place = tuple[float, str]
"""`(updated_at, id)`: where a session stands in the list."""


class DynamoSessions(DynamoCalls):
    """Every method raises StoreUnavailable when DynamoDB fails, throttles or is too slow."""

    async def newest(self, wanted: Wanted, cursor: str | None, limit: int, now: float) -> Page:
        last = (FAR, "") if cursor is None else position(cursor)
        if wanted.until is not None:
            last = min(last, (wanted.until, ""))
        return await self._table.run(lambda client: self._page(client, wanted, last, limit, now))

    def _page(
        self,
        client: DynamoDBClient,
        wanted: Wanted,
        last: Place,
        limit: int,
        now: float,
    ) -> Page:
        rows: list[Overview] = []
        looked_at = 0
        oldest = max(now - self._retention.session, wanted.since or 0.0)
        for group in self._groups(client, min(last[0], now + AHEAD), oldest):
            found = self._overviews(client, group, now)
            found.sort(key=_place, reverse=True)
            for row in found:
                if _place(row) < last and wants(wanted, row):
                    rows.append(row)
                if len(rows) > limit:
                    return Page(rows[:limit], cursor_after(rows[limit - 1]))
            looked_at += len(group)
            if found and looked_at >= AT_ONCE:
                return Page(rows, cursor_after(found[-1]))
        return Page(rows, None)

    def _groups(self, client: DynamoDBClient, latest: float, oldest: float) -> Iterator[list[Item]]:
        """What is listed for each ten minutes, newest first."""
        day, minutes = latest, items.active_at(latest).partition("#")[2]
        while date_of(day) >= date_of(oldest):
            pk = items.active_row(items.active_at(day), "").pk
            found = self._table.query(client, pk, (" ", f"{minutes}#~"), newest=AT_ONCE)
            for _, group in groupby(
                found, lambda item: items.text_in(item, "sk").partition("#")[0]
            ):
                yield list(group)
            day, minutes = day - DAY, "~"

    def _overviews(
        self, client: DynamoDBClient, listed: Sequence[Item], now: float
    ) -> list[Overview]:
        """Those still listed there: one that moves on may be listed twice for a moment."""
        found: list[Item] = []
        rows = {_listed_as(item)[1]: items.row_of(item) for item in listed}
        ids = list(rows)
        for start in range(0, len(ids), 100):
            keys = [items.session_row(one).key() for one in ids[start : start + 100]]
            waiting: Any = {self._table.name: {"Keys": keys, "ConsistentRead": True}}
            while waiting:
                answer = client.batch_get_item(RequestItems=waiting)
                found += answer["Responses"].get(self._table.name, [])
                waiting = answer["UnprocessedKeys"]
        kept = (one for one in found if self._is_kept(one, now) and _is_at(one, rows))
        return [items.overview_in(one, now) for one in kept]

    async def days(self, since: str, until: str) -> Sequence[Day]:
        def work(client: DynamoDBClient) -> list[Day]:
            if since > until:
                return []
            return [_day(item) for item in self._table.query(client, items.DAYS, (since, until))]

        return await self._table.run(work)


def _listed_as(item: Item) -> tuple[str, str]:
    """`(ten minutes of the day, session id)`."""
    minutes, _, session_id = items.text_in(item, "sk").partition("#")
    return minutes, session_id


def _is_at(session: Item, rows: Mapping[str, Row]) -> bool:
    session_id = items.session_in(session).id
    return items.active_row(items.text_in(session, "active"), session_id) == rows[session_id]


def _day(item: Item) -> Day:
    counts = (items.whole_in(item, name) for name in ("turns", "errors", "prompt", "completion"))
    return Day(items.text_in(item, "sk"), *counts)


def _place(row: Overview) -> Place:
    return row.session.updated_at, row.session.id
