"""Keeps an item for each chat that a filter of the operator's list finds, besides `active#`.

    pk                sk
    queue#waiting     2026-01-31#141#ID    a chat that waits, by the ten minutes of its last use
    queue#user#4711   2026-01-31#141#ID    a chat of a user with this number
    queue             converted            how far the chats of an older version have such items

A filter reads the items of one queue, then their sessions, and shows the sessions that match.
An item of a queue may be outdated. An item must not be missing: it is written before a chat begins
to wait, and under new ten minutes before the item of the former ten minutes is deleted.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from kefu.sessions.store.overview import SessionFilter
from kefu.stores.dynamodb import items
from kefu.stores.dynamodb.table import Row, Table, value_of
from kefu.stores.turns import ERRORS, TOOL_COUNTERS, bucket_of

if TYPE_CHECKING:
    from kefu.stores.dynamodb.table import Item, Values

CONVERTED: Final = Row("queue", "converted")

COUNTED: Final = ("downs", "ups", "unanswered", "errors", *TOOL_COUNTERS.values())
"""Attributes of a session that are also queues, for sessions with at least one."""


def queues_of(session: Item) -> set[str]:
    """The queues to which a session belongs."""
    names = {name for name in COUNTED if items.whole_in(session, name) > 0}
    if state := items.text_in(session, "state"):
        names |= of_state(state)
    return names | of_user(items.text_in(session, "user"))


def of_state(state: str) -> set[str]:
    return set() if state == "bot" else {state}


def of_user(user: str) -> set[str]:
    return {f"user#{bucket_of(user)}"} if user else set()


def queue_for(wanted: SessionFilter) -> str | None:
    """The queue that has all sessions of a filter, the shortest first; None if there is none."""
    queues = (
        *of_user(wanted.user),
        *of_state(wanted.state or "bot"),
        *([f"{wanted.rating}s"] if wanted.rating else ()),
        *([TOOL_COUNTERS[wanted.tool]] if wanted.tool else ()),
        *(["unanswered"] if wanted.unanswered else ()),
        *(["errors"] if wanted.has_error or wanted.status in ERRORS else ()),
    )
    return next(iter(queues), None)


def rows_of(session_id: str, queues: Collection[str], active: str) -> list[Row]:
    return [Row(f"queue#{name}", f"{active}#{session_id}") for name in sorted(queues)]


def entries(session: Item, queues: Collection[str]) -> list[tuple[Row, Values]]:
    """The items of a session in queues."""
    name, active = items.session_in(session).id, items.text_in(session, "active")
    values = {"expires": value_of(items.whole_in(session, "expires"))}
    return [(row, values) for row in rows_of(name, queues, active)]


def read_converted(table: Table, now: float) -> float:
    """The time until which the chats of an older version may have no items; 0.0: all have.

    The first value is `now`, or 0.0 in a table without chats.
    """
    item = table.read(CONVERTED)
    if item:
        return items.time_in(item, "until")
    has_chats = next(table.query(items.DAYS, (" ", "~"), newest=1), None)
    until = now if has_chats else 0.0
    table.put(CONVERTED, {"until": value_of(until)}, replace=False)
    return until
