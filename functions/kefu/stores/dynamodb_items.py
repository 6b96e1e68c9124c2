"""Chats as items of a DynamoDB table: keys, attributes, and the values they stand for.

    pk                   sk
    session#ID           ~                        the session
    session#ID           turn#0000000007          a turn: the visitor's message and its answer
    session#ID           client#CLIENT-ID         which turn this message was
    calls#ID             call#0000000007#0001#00  a call, in parts
    calls#ID             text#DIGEST              what several calls refer to
    active#2026-01-31    141#ID                   last used then, between 14:10 and 14:20
    days                 2026-01-31               sums
    secret               sessions

The session comes right after its newest turn, so that one query reads both. The list of sessions
is made of items and not of an index: a turn writes one only when the ten minutes are other ones
than the last turn's, while an index on the time would cost two more writes each turn.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, cast

from kefu.sessions import Overview, Rating, Session, SessionId, Status
from kefu.stores.dynamodb_table import Row, number_in
from kefu.stores.turns import Turn, date_of, seen

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from kefu.stores.dynamodb_table import Item, Table

SESSION: Final = "~"
FIRST_TURN: Final = "turn#"
LAST_TURN: Final = "turn#~"
SECRET: Final = Row("secret", "sessions")
DAYS: Final = "days"


def session_pk(session_id: str) -> str:
    return f"session#{session_id}"


def session_row(session_id: str) -> Row:
    return Row(session_pk(session_id), SESSION)


def turn_sk(question_id: int) -> str:
    return f"{FIRST_TURN}{question_id:010}"


def turn_row(session_id: str, question_id: int) -> Row:
    return Row(session_pk(session_id), turn_sk(question_id))


def client_row(session_id: str, client_message_id: str) -> Row:
    return Row(session_pk(session_id), f"client#{client_message_id}")


def calls_pk(session_id: str) -> str:
    return f"calls#{session_id}"


def active_at(at: float) -> str:
    """The ten minutes of a time, as a session remembers where it is listed."""
    when = datetime.fromtimestamp(at, UTC)
    return f"{date_of(at)}#{when.hour:02}{when.minute // 10}"


def active_row(active: str, session_id: str) -> Row:
    date, _, minutes = active.partition("#")
    return Row(f"active#{date}", f"{minutes}#{session_id}")


def row_of(item: Item) -> Row:
    return Row(text_in(item, "pk"), text_in(item, "sk"))


def text_in(item: Item, name: str) -> str:
    """A text attribute; empty when it is absent."""
    return item.get(name, {}).get("S", "")


def whole_in(item: Item, name: str) -> int:
    return int(number_in(item, name) or 0)


def time_in(item: Item, name: str) -> float:
    return number_in(item, name) or 0.0


def session_in(item: Item) -> Session:
    return Session(
        id=SessionId(text_in(item, "pk").partition("#")[2]),
        title=text_in(item, "title"),
        config_id=text_in(item, "config"),
        created_at=time_in(item, "created"),
        updated_at=time_in(item, "updated"),
    )


def overview_in(item: Item, now: float) -> Overview:
    status = cast(Status, text_in(item, "status"))
    return Overview(
        session=session_in(item),
        turns=whole_in(item, "turns"),
        tokens=whole_in(item, "tokens"),
        errors=whole_in(item, "errors"),
        status=seen(status, time_in(item, "lease"), now),
    )


def turn_in(item: Item) -> Turn:
    return Turn(
        session_id=SessionId(text_in(item, "pk").partition("#")[2]),
        question_id=int(text_in(item, "sk").partition("#")[2]),
        question=text_in(item, "question"),
        status=cast(Status, text_in(item, "status")),
        lease=time_in(item, "lease"),
        asked_at=time_in(item, "asked"),
        client_message_id=text_in(item, "client") or None,
        answer=text_in(item, "answer"),
        answered_at=time_in(item, "answered"),
        rating=cast(Rating | None, text_in(item, "rating") or None),
        again=whole_in(item, "again"),
    )


def delete_partition(table: Table, client: DynamoDBClient, pk: str) -> None:
    """Every item of a partition, 25 at a time."""
    found = [row_of(item) for item in table.query(client, pk, (" ", "~"), keys_only=True)]
    for start in range(0, len(found), 25):
        delete_rows(table, client, found[start : start + 25])


def delete_rows(table: Table, client: DynamoDBClient, rows: list[Row]) -> None:
    """At most 25."""
    waiting: Any = {table.name: [{"DeleteRequest": {"Key": row.key()}} for row in rows]}
    while waiting:
        waiting = client.batch_write_item(RequestItems=waiting)["UnprocessedItems"]
