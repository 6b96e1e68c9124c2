"""Lists the sessions and daily totals in a DynamoDB table, for the operator's panel."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from kefu.sessions.store.model import Retention, SessionId
from kefu.sessions.store.overview import (
    AskedQuestions,
    Day,
    Overview,
    Page,
    SessionFilter,
    ToolDay,
    UserSessions,
)
from kefu.stores.dynamodb import items
from kefu.stores.dynamodb.images import DynamoImages
from kefu.stores.dynamodb.queues import (
    CONVERTED,
    entries,
    queue_for,
    queues_of,
    read_converted,
)
from kefu.stores.dynamodb.table import Row, Table, change
from kefu.stores.dynamodb.texts import READ_AT_ONCE, asked_most, page_of_matches
from kefu.stores.dynamodb.upkeep import count, days_between, tool_days_between
from kefu.stores.dynamodb.users import sessions_of
from kefu.stores.turns import (
    FAR_FUTURE,
    FIRST_CURSOR,
    DayChange,
    StoredTurn,
    cursor_after,
    date_of,
    newest_comment,
    position,
    wants,
)

if TYPE_CHECKING:
    from kefu.stores.dynamodb.table import Item

AT_ONCE: Final = 1000
"""The number of sessions that are read for one page of the list, with or without a filter."""

LIST_ROWS: Final = 15
"""The rows of a page of a queue, except that of a user, and of the list without a filter.

Each row of a queue costs a read unit. The list reads whole intervals of ten minutes, and is
eventually consistent, for half of a unit for each chat.
"""

BATCH_ITEMS: Final = 100
"""The most items that BatchGetItem reads."""

NEWEST: Final = 200
"""The number of sessions whose questions are read."""

PARTS_AT_ONCE: Final = 5
"""Parts of an older version's chats that one look at the insights converts."""

DAY_SECONDS: Final = 86400.0
"""One day in seconds."""

DAYS_AT_ONCE: Final = 100
"""Days of the list of an older version that one look reads at most: each is a query."""

READERS_AT_ONCE: Final = 8
"""Sessions whose turns are read at the same time. Chats have the other threads."""

AHEAD: Final = 3600.0
"""Seconds by which the clock of another instance may be ahead of this instance's clock."""

Position = tuple[float, str]
"""`(updated_at, id)`, the sort key of the list of sessions."""


class DynamoSessions(DynamoImages):
    """Every method raises StoreUnavailable if DynamoDB fails, throttles or is too slow."""

    def __init__(self, table: Table, clock: Callable[[], float], retention: Retention) -> None:
        super().__init__(table, clock, retention)
        self._is_converted = False
        """Whether all chats are in their queues."""

    async def newest(
        self, wanted: SessionFilter, cursor: str | None, limit: int, now: float
    ) -> Page:
        last = position(cursor, wanted.until)
        read, queue = self._search if wanted.text else self._page, queue_for(wanted)
        if (queue and not wanted.user) or _is_plain(wanted):
            limit = min(limit, LIST_ROWS)

        def work() -> Page:
            if queue and (converted := self._convert(now)):
                return Page([], cursor or FIRST_CURSOR, read=converted)
            return read(wanted, last, limit, now)

        return await self._table.run(work)

    async def _turns_of(self, names: Sequence[SessionId]) -> Sequence[Sequence[StoredTurn]]:
        """The turns of each session. Several are read at the same time."""
        gate = asyncio.Semaphore(READERS_AT_ONCE)

        async def turns(name: SessionId) -> list[StoredTurn]:
            async with gate:
                return await self._table.run(lambda: list(self._turns(name)))

        return await asyncio.gather(*map(turns, names))

    def _page(
        self,
        wanted: SessionFilter,
        last: Position,
        limit: int,
        now: float,
    ) -> Page:
        """A page of the rows that match. `read`: the number of rows read, if no queue fits."""
        rows: list[Overview] = []
        queue, scanned, read = queue_for(wanted), 0, 0
        is_scan = queue is None and not _is_plain(wanted)
        period = min(last[0], now + AHEAD), max(now - self._retention.session, wanted.since or 0.0)
        for listed in self._listed(queue, period, BATCH_ITEMS if is_scan else limit + 1):
            found = self._sessions(listed, now, consistent=not _is_plain(wanted))
            overviews = [self._overview(one, now) for one in found]
            overviews.sort(key=_position, reverse=True)
            new = [row for row in overviews if _position(row) < last]
            rows += [row for row in new if wants(wanted, row)]
            scanned, read = scanned + len(listed), read + len(new)
            if len(rows) > limit:
                end = rows[limit - 1]
                read -= sum(_position(row) < _position(end) for row in new)
                return Page(rows[:limit], cursor_after(end), read if is_scan else None)
            if overviews:
                # An item of a queue may be outdated: its session was in an earlier part then.
                last = min(last, _position(overviews[-1]))
            if overviews and scanned >= AT_ONCE:
                return Page(rows, cursor_after(overviews[-1]), read)
        return Page(rows, None, read if is_scan else None)

    def _search(self, wanted: SessionFilter, last: Position, limit: int, now: float) -> Page:
        """Like `_page`, with the words of the search, among the next `READ_AT_ONCE` sessions."""
        # Not at the top: the stemmer is loaded for a search, not when the service starts.
        from kefu.knowledge.message_words import searched_words

        searched = searched_words(wanted.text)
        if not searched:
            return Page([], None, read=0)
        page = self._page(wanted, last, READ_AT_ONCE, now)
        found = page_of_matches(page.rows, self._turns, searched, limit)
        read = max(found.read or 0, page.read or 0)
        return found if found.cursor else found._replace(cursor=page.cursor, read=read)

    def _overview(self, session: Item, now: float) -> Overview:
        row = items.overview_in(session, now)
        if row.downs and "comment" not in session:  # rated with an earlier version
            turns = list(self._turns(row.session.id))
            return row._replace(comment=newest_comment(turns))
        return row

    def _turns(self, session_id: SessionId) -> Iterator[StoredTurn]:
        pk = items.session_pk(session_id)
        return map(items.turn_in, self._table.query(pk, items.TURNS))

    async def questions(
        self, since: float, until: float, limit: int, now: float, *, gaps: bool = False
    ) -> AskedQuestions:
        look = self._newest_gaps if gaps else self._newest
        rows, is_whole = await self._table.run(lambda: look(since, now))
        found = await self._turns_of([row.session.id for row in rows])
        asked = [one for some in found for one in some if one.is_asked(since, until, gaps=gaps)]
        # In a thread: the stems of many questions take longer than chats should wait.
        return await asyncio.to_thread(asked_most, asked, limit, is_whole=is_whole)

    def _newest(self, since: float, now: float) -> tuple[Sequence[Overview], bool]:
        """The newest sessions, and whether there are no other sessions."""
        page = self._page(SessionFilter(since=since), (FAR_FUTURE, ""), NEWEST, now)
        return page.rows, page.cursor is None

    def _newest_gaps(self, since: float, now: float) -> tuple[Sequence[Overview], bool]:
        """The newest sessions with a question that was not answered, or an answer rated down."""
        left = all(self._convert(now) for _ in range(PARTS_AT_ONCE))
        gaps = (
            SessionFilter(since=since, unanswered=True),
            SessionFilter(since=since, rating="down"),
        )
        pages = [self._page(wanted, (FAR_FUTURE, ""), NEWEST, now) for wanted in gaps]
        rows = {row.session.id: row for page in pages for row in page.rows}
        is_whole = not left and len(rows) <= NEWEST and all(page.cursor is None for page in pages)
        return sorted(rows.values(), key=_position, reverse=True)[:NEWEST], is_whole

    def _listed(
        self, queue: str | None, period: tuple[float, float], size: int
    ) -> Iterator[list[Item]]:
        """Yield the items of the list or of a queue, the newest first.

        Each part has all items of some ten-minute intervals, and at least `size` items.
        `period`: the last moment and the first.
        """
        part: list[Item] = []
        found = self._in_queue if queue else self._active
        for _, group in groupby(found(queue or "", period, size), items.active_in):
            part += group
            if len(part) >= size:
                yield part
                part = []
        if part:
            yield part

    def _in_queue(self, queue: str, period: tuple[float, float], size: int) -> Iterator[Item]:
        latest, oldest = map(items.active_at, period)
        bounds = (oldest, f"{latest}#~")
        return self._table.query(f"queue#{queue}", bounds, newest=min(2 * size, AT_ONCE))

    def _active(self, _queue: str, period: tuple[float, float], size: int) -> Iterator[Item]:
        day, oldest = period
        minutes = items.active_at(day).partition("#")[2]
        page = min(2 * size, AT_ONCE)
        while date_of(day) >= date_of(oldest):
            pk = items.active_row(items.active_at(day), "").pk
            yield from self._table.query(pk, (" ", f"{minutes}#~"), newest=page)
            day, minutes = day - DAY_SECONDS, "~"

    def _sessions(
        self, listed: Sequence[Item], now: float, *, consistent: bool = True
    ) -> list[Item]:
        """Read the sessions that items of the list, or of a queue, refer to.

        A session that was used again may briefly have two items in the list. The outdated one is
        skipped.
        """
        sessions: list[Item] = []

        def read(requests: Any) -> Any:
            answer = self._table.client.batch_get_item(RequestItems=requests)
            sessions.extend(answer["Responses"].get(self._table.name, []))
            return answer["UnprocessedKeys"]

        rows = {items.listed_in(item)[1]: items.row_of(item) for item in listed}
        ids = list(rows)
        for start in range(0, len(ids), BATCH_ITEMS):
            keys = [items.session_row(one).key() for one in ids[start : start + BATCH_ITEMS]]
            wanted = {"Keys": keys, "ConsistentRead": consistent}
            self._table.batch(read, {self._table.name: wanted})
        return [one for one in sessions if self._is_kept(one, now) and _is_current(one, rows)]

    def _convert(self, now: float) -> int:
        """Add some chats of an older version to their queues.

        Returns the number of chats that were read if there are more of them, otherwise 0.
        """
        if self._is_converted:
            return 0
        until, read = read_converted(self._table, now + AHEAD), 0
        oldest = max(now - self._retention.session, until - DAYS_AT_ONCE * DAY_SECONDS)
        for listed in self._listed(None, (until, oldest), BATCH_ITEMS) if until > oldest else ():
            sessions = self._sessions(listed, now)
            new = [one for session in sessions for one in entries(session, queues_of(session))]
            items.put_rows(self._table, new)
            read += len(listed)
            until = items.began_at(items.active_in(listed[-1])) - 1
            if read >= AT_ONCE:
                self._table.update(CONVERTED, change("SET #until = :until", until=until))
                return read
        has_more = oldest > now - self._retention.session
        if read or has_more:
            until = oldest if has_more else 0
            self._table.update(CONVERTED, change("SET #until = :until", until=until))
        self._is_converted = not has_more
        return max(1, read) if has_more else 0

    async def of_user(self, user: str, cursor: str | None) -> UserSessions:
        return await self._table.run(lambda: sessions_of(self._table, user, cursor))

    async def days(self, since: str, until: str) -> Sequence[Day]:
        return await self._table.run(lambda: days_between(self._table, since, until))

    async def count_assistant(self, now: float) -> None:
        by = DayChange(date_of(now), {"assistants": 1})
        await self._table.run(lambda: count(self._table, by))

    async def tool_days(self, since: str, until: str) -> Sequence[ToolDay]:
        return await self._table.run(lambda: tool_days_between(self._table, since, until))

    async def used(self) -> None:
        """Returns None: a table has no maximum size. Rate limits and TTL bound the growth."""


def _is_plain(wanted: SessionFilter) -> bool:
    """Whether a filter has no more than dates."""
    return wanted == SessionFilter(since=wanted.since, until=wanted.until)


def _is_current(session: Item, rows: Mapping[str, Row]) -> bool:
    """Whether the session is listed under its `active#` item in `rows`, or is in a queue."""
    row = rows[items.session_in(session).id]
    return row.pk.startswith("queue#") or row == items.active_row(
        items.text_in(session, "active"), items.session_in(session).id
    )


def _position(row: Overview) -> Position:
    return row.session.updated_at, row.session.id
