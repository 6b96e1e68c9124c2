"""Maps chats to the items of a DynamoDB table: their keys and attributes.

    pk                   sk
    session#ID           ~                        the session
    session#ID           ~trim                    the state of trimming, if there is one
    session#ID           turn#0000000007          a turn: the visitor's message and its answer
    session#ID           client#CLIENT-ID         the turn number of a client message id
    calls#ID             call#0000000007#0001#00  a part of an upstream call
    calls#ID             text#DIGEST#00           a part of a text; only of earlier versions
    images#ID#0          0000000007#00            a part of the first image of a message
    active#2026-01-31    141#ID                   a session last used between 14:10 and 14:20
    queue#…                                       see `queues`
    days                 2026-01-31               the totals of a day
    tool_days            2026-01-31               the calls of each tool on a day
    secret               sessions                 the key that signs session tokens

`~` sorts after every `turn#`, so that one query reads the session and its newest turns, and another
one the session and its state of trimming. The state of trimming is an item of its own, because each
turn updates the session's item twice, and DynamoDB bills an update by the size of the whole item.

The `active#` items replace a secondary index for the list of sessions, to save costs. A session is
listed by the ten-minute interval of its last use. A turn writes an `active#` item only in a new
interval, while an index on the exact time would cost two more writes for each turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, cast

from kefu.sessions.store.attendance import Attendance, State
from kefu.sessions.store.model import Session, SessionId, Status
from kefu.sessions.store.overview import Overview
from kefu.stores.dynamodb.table import Change, Row, change, number_in, value_of
from kefu.stores.turns import TOOL_COUNTERS, StoredTurn, date_of, seen

if TYPE_CHECKING:
    from kefu.stores.dynamodb.table import Item, Table, Values

SESSION: Final = "~"
TRIM_STATE: Final = "~trim"
FIRST_TURN: Final = "turn#"
LAST_TURN: Final = "turn#~"
TURNS: Final = (FIRST_TURN, LAST_TURN)
"""The bounds of all turns of a session."""
SECRET: Final = Row("secret", "sessions")
DAYS: Final = "days"
TOOL_DAYS: Final = "tool_days"


def session_pk(session_id: str) -> str:
    return f"session#{session_id}"


def session_row(session_id: str) -> Row:
    return Row(session_pk(session_id), SESSION)


def trim_state_row(session_id: str) -> Row:
    return Row(session_pk(session_id), TRIM_STATE)


def turn_sk(question_id: int) -> str:
    return f"{FIRST_TURN}{question_id:010}"


def turn_row(session_id: str, question_id: int) -> Row:
    return Row(session_pk(session_id), turn_sk(question_id))


def client_row(session_id: str, client_message_id: str) -> Row:
    return Row(session_pk(session_id), f"client#{client_message_id}")


def calls_pk(session_id: str) -> str:
    return f"calls#{session_id}"


def images_pk(session_id: str, number: int) -> str:
    return f"images#{session_id}#{number}"


def image_row(session_id: str, message_id: int, number: int) -> Row:
    """The beginning of the key of an image's parts."""
    return Row(images_pk(session_id, number), f"{message_id:010}")


def active_at(at: float) -> str:
    """Return the ten-minute interval of a Unix time, such as `2026-01-31#141` for 14:10.

    The session's attribute `active` is this interval, and names its `active#` item.
    """
    when = datetime.fromtimestamp(at, UTC)
    return f"{date_of(at)}#{when.hour:02}{when.minute // 10}"


def active_row(active: str, session_id: str) -> Row:
    date, _, minutes = active.partition("#")
    return Row(f"active#{date}", f"{minutes}#{session_id}")


def began_at(active: str) -> float:
    """The Unix time at which a ten-minute interval began."""
    return datetime.strptime(f"{active}0+0000", "%Y-%m-%d#%H%M%z").timestamp()


def listed_in(item: Item) -> tuple[str, str]:
    """Return `(ten-minute interval, session id)` of an `active#` item or an item of a queue."""
    row = row_of(item)
    kind, _, date = row.pk.partition("#")
    when, _, session_id = row.sk.rpartition("#")
    return (when if kind == "queue" else f"{date}#{when}"), session_id


def active_in(item: Item) -> str:
    return listed_in(item)[0]


def row_of(item: Item) -> Row:
    return Row(text_in(item, "pk"), text_in(item, "sk"))


def text_in(item: Item, name: str) -> str:
    """Return a string attribute; an empty string if it is absent."""
    return item.get(name, {}).get("S", "")


def whole_in(item: Item, name: str) -> int:
    """Return an integer attribute; 0 if it is absent."""
    return int(number_in(item, name) or 0)


def time_in(item: Item, name: str) -> float:
    """Return a Unix time attribute; 0.0 if it is absent."""
    return number_in(item, name) or 0.0


def _optional_text_in(item: Item, name: str) -> str | None:
    return text_in(item, name) or None


def _flag_in(item: Item, name: str) -> bool:
    return whole_in(item, name) > 0


_NAMES: Final = {"asked_at": "asked", "answered_at": "answered", "client_message_id": "client"}
"""The attributes of a turn whose names differ from their fields' names."""

_READERS: Final[Mapping[type, Callable[[Item, str], Any]]] = {
    str: text_in,
    float: time_in,
    int: whole_in,
    bool: _flag_in,
    type(None): _optional_text_in,
}
_TURN: Final = {
    "question": text_in,
    "status": text_in,
    "lease": time_in,
    "asked_at": time_in,
    **{name: _READERS[type(absent)] for name, absent in StoredTurn._field_defaults.items()},
}
"""The fields that an item has besides its keys, by the types of their defaults."""


_COUNTED: Final = (
    "turns",
    "tokens",
    "errors",
    "unanswered",
    "ups",
    "downs",
    *TOOL_COUNTERS.values(),
)
"""The numbers that a session's item has."""


def session_in(item: Item) -> Session:
    return Session(
        id=SessionId(text_in(item, "pk").partition("#")[2]),
        title=text_in(item, "title"),
        config_id=text_in(item, "config"),
        created_at=time_in(item, "created"),
        updated_at=time_in(item, "updated"),
        attendance=attendance_in(item),
        user=text_in(item, "user"),
    )


def attendance_in(session: Item) -> Attendance:
    state = cast(State, text_in(session, "state") or "bot")
    return Attendance(state, text_in(session, "operator"), time_in(session, "since"))


def overview_in(item: Item, now: float) -> Overview:
    status, session = cast(Status, text_in(item, "status")), session_in(item)
    counts: dict[str, Any] = {name: whole_in(item, name) for name in _COUNTED}
    return Overview(
        session=session,
        status=seen(status, time_in(item, "lease"), now),
        comment=text_in(item, "comment"),
        line=text_in(item, "line"),
        line_by=text_in(item, "line_by"),
        request=text_in(item, "request") if session.attendance.state == "waiting" else "",
        **counts,
    )


def turn_in(item: Item) -> StoredTurn:
    return StoredTurn(
        session_id=SessionId(text_in(item, "pk").partition("#")[2]),
        question_id=int(text_in(item, "sk").partition("#")[2]),
        **{field: read(item, _NAMES.get(field, field)) for field, read in _TURN.items()},
    )


def turn_values(turn: StoredTurn) -> Values:
    """The attributes of a turn, without empty attributes."""
    found = {_NAMES.get(field, field): getattr(turn, field) for field in _TURN}
    return {name: value_of(value) for name, value in found.items() if value}


def turn_change(
    fields: Mapping[str, float | str | None],
    condition: str,
    add: str = "",
    /,
    **values: float | str,
) -> Change:
    """An update of a turn's fields, or of other attributes. The update removes empty attributes.

    `add`: the ADD clause. `values` are the values of the condition and of this clause.
    """
    named = {_NAMES.get(field, field): value for field, value in fields.items()}
    kept = {name: value for name, value in named.items() if value}
    clauses = (
        ("SET", [f"#{name} = :{name}" for name in kept]),
        ("REMOVE", [f"#{name}" for name in named if name not in kept]),
        ("ADD", [add] if add else []),
    )
    expression = " ".join(f"{verb} {', '.join(parts)}" for verb, parts in clauses if parts)
    return change(expression, condition, **kept, **values)


def delete_partition(table: Table, pk: str, keep: Row | None = None) -> None:
    """Delete all items of a partition except `keep`."""
    found = map(row_of, table.query(pk, (" ", TRIM_STATE), keys_only=True))
    delete_rows(table, [row for row in found if row != keep])


def put_rows(table: Table, rows: list[tuple[Row, Values]]) -> None:
    """Write whole items."""
    _write(table, [{"PutRequest": {"Item": {**row.key(), **values}}} for row, values in rows])


def delete_rows(table: Table, rows: list[Row]) -> None:
    _write(table, [{"DeleteRequest": {"Key": row.key()}} for row in rows])


def _write(table: Table, requests: list[Any]) -> None:
    """Send 25 requests in a call, the limit of BatchWriteItem."""
    for start in range(0, len(requests), 25):
        table.batch(
            lambda left: table.client.batch_write_item(RequestItems=left)["UnprocessedItems"],
            {table.name: requests[start : start + 25]},
        )
