"""Lists the sessions and daily totals in a DynamoDB table, for the operator's panel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from kefu.sessions.model import SessionId
from kefu.sessions.overview import AskedQuestions, Day, Overview, Page, UserSessions, Wanted
from kefu.stores.asked import asked_most
from kefu.stores.dynamodb import items
from kefu.stores.dynamodb.calls import DAY, DynamoCalls
from kefu.stores.dynamodb.days import days_between
from kefu.stores.dynamodb.table import Row
from kefu.stores.dynamodb.users import sessions_of
from kefu.stores.search import page_of_matches, searched_words
from kefu.stores.turns import (
    FAR,
    READ_AT_ONCE,
    StoredTurn,
    cursor_after,
    date_of,
    newest_comment,
    position,
    wants,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from kefu.stores.dynamodb.table import Item

AT_ONCE: Final = 1000
"""The number of sessions that are read for one page of the list, with or without a filter."""

NEWEST: Final = 200
"""The number of sessions whose questions are read."""

OF_USER: Final = 100
"""The number of items of a user's list that one read takes."""

AHEAD: Final = 3600.0
"""Seconds by which the clock of another instance may be ahead of this instance's clock."""

Position = tuple[float, str]
"""`(updated_at, id)`, the sort key of the list of sessions."""


class DynamoSessions(DynamoCalls):
    """Every method raises StoreUnavailable if DynamoDB fails, throttles or is too slow."""

    async def newest(self, wanted: Wanted, cursor: str | None, limit: int, now: float) -> Page:
        last = (FAR, "") if cursor is None else position(cursor)
        if wanted.until is not None:
            last = min(last, (wanted.until, ""))
        read = self._search if wanted.text else self._page

        def work(client: DynamoDBClient) -> Page:
            page = read(client, wanted, last, limit, now)
            return page._replace(rows=[self._with_comment(client, row) for row in page.rows])

        return await self._table.run(work)

    def _with_comment(self, client: DynamoDBClient, row: Overview) -> Overview:
        """The row with its comment, which only chats with a rating down can have."""
        if not row.downs:
            return row
        return row._replace(comment=newest_comment(list(self._turns(client, row.session.id))))

    def _page(
        self,
        client: DynamoDBClient,
        wanted: Wanted,
        last: Position,
        limit: int,
        now: float,
    ) -> Page:
        rows: list[Overview] = []
        scanned = 0
        oldest = max(now - self._retention.session, wanted.since or 0.0)
        latest = min(last[0], now + AHEAD)
        groups = (
            self._groups_of_user(client, wanted.user, latest)
            if wanted.user
            else self._groups(client, latest, oldest)
        )
        for group in groups:
            overviews = self._overviews(client, group, now)
            overviews.sort(key=_position, reverse=True)
            for row in overviews:
                if _position(row) < last and wants(wanted, row):
                    rows.append(row)
                if len(rows) > limit:
                    return Page(rows[:limit], cursor_after(rows[limit - 1]))
            scanned += len(group)
            if overviews and scanned >= AT_ONCE:
                return Page(rows, cursor_after(overviews[-1]))
        return Page(rows, None)

    def _search(
        self, client: DynamoDBClient, wanted: Wanted, last: Position, limit: int, now: float
    ) -> Page:
        """Like `_page`, with the words of the search, among the next `READ_AT_ONCE` sessions."""
        searched = searched_words(wanted.text)
        if not searched:
            return Page([], None, read=0)
        page = self._page(client, wanted, last, READ_AT_ONCE, now)
        found = page_of_matches(page.rows, lambda name: self._turns(client, name), searched, limit)
        return found if found.cursor else found._replace(cursor=page.cursor)

    def _turns(self, client: DynamoDBClient, session_id: SessionId) -> Iterator[StoredTurn]:
        bounds = (items.FIRST_TURN, items.LAST_TURN)
        pk = items.session_pk(session_id)
        return map(items.turn_in, self._table.query(client, pk, bounds))

    async def questions(
        self, since: float, until: float, limit: int, now: float, *, gaps: bool = False
    ) -> AskedQuestions:
        def work(client: DynamoDBClient) -> AskedQuestions:
            wanted = Wanted(since=since)
            page = self._page(client, wanted, (FAR, ""), AT_ONCE if gaps else NEWEST, now)
            rows = [row for row in page.rows if row.unanswered or row.downs or not gaps]
            turns = (turn for row in rows[:NEWEST] for turn in self._turns(client, row.session.id))
            asked = [turn for turn in turns if turn.is_asked(since, until, gaps=gaps)]
            is_whole = page.cursor is None and len(rows) <= NEWEST
            return asked_most(asked, limit, is_whole=is_whole)

        return await self._table.run(work)

    def _groups(self, client: DynamoDBClient, latest: float, oldest: float) -> Iterator[list[Item]]:
        """Yield the `active#` items of each ten-minute interval, the newest interval first."""
        day, minutes = latest, items.active_at(latest).partition("#")[2]
        while date_of(day) >= date_of(oldest):
            pk = items.active_row(items.active_at(day), "").pk
            listed = self._table.query(client, pk, (" ", f"{minutes}#~"), newest=AT_ONCE)
            for _, group in groupby(listed, lambda item: _listed_as(item)[0]):
                yield list(group)
            day, minutes = day - DAY, "~"

    def _groups_of_user(
        self, client: DynamoDBClient, user: str, latest: float
    ) -> Iterator[list[Item]]:
        """Like `_groups`, for the sessions of a user."""
        pk, last = items.user_row(user, items.active_at(latest), "~")
        listed = self._table.query(client, pk, (" ", last), newest=OF_USER)
        for _, group in groupby(listed, lambda item: _listed_as(item)[0]):
            yield list(group)

    def _overviews(
        self, client: DynamoDBClient, listed: Sequence[Item], now: float
    ) -> list[Overview]:
        """Read the sessions of `active#` items.

        A session that was used again may briefly have two items. The outdated item is skipped.
        """
        sessions: list[Item] = []

        def read(requests: Any) -> Any:
            answer = client.batch_get_item(RequestItems=requests)
            sessions.extend(answer["Responses"].get(self._table.name, []))
            return answer["UnprocessedKeys"]

        rows = {_listed_as(item)[1]: items.row_of(item) for item in listed}
        ids = list(rows)
        for start in range(0, len(ids), 100):
            keys = [items.session_row(one).key() for one in ids[start : start + 100]]
            self._table.batch(read, {self._table.name: {"Keys": keys, "ConsistentRead": True}})
        current = (one for one in sessions if self._is_kept(one, now) and _is_current(one, rows))
        return [items.overview_in(one, now) for one in current]

    async def of_user(self, user: str, cursor: str | None) -> UserSessions:
        return await self._table.run(lambda client: sessions_of(self._table, client, user, cursor))

    async def days(self, since: str, until: str) -> Sequence[Day]:
        return await self._table.run(lambda client: days_between(self._table, client, since, until))

    async def used(self) -> None:
        """Returns None: a table has no maximum size. Rate limits and TTL bound its growth."""


def _listed_as(item: Item) -> tuple[str, str]:
    """Return `(ten-minute interval, session id)` of an item that lists a session."""
    interval, _, session_id = items.text_in(item, "sk").rpartition("#")
    return interval, session_id


def _is_current(session: Item, rows: Mapping[str, Row]) -> bool:
    """Whether the session is still listed under the item in `rows`."""
    one, active = items.session_in(session), items.text_in(session, "active")
    return rows[one.id] in items.listing_rows(active, one.id, one.user)


def _position(row: Overview) -> Position:
    return row.session.updated_at, row.session.id
