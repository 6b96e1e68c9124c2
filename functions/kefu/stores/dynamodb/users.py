"""Finds all sessions of one user in a DynamoDB table.

The search reads the whole table, because a user's queue has no expired sessions, and none whose
deletion was interrupted. A user is erased rarely.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kefu.sessions.store.model import SessionId
from kefu.sessions.store.overview import UserSessions
from kefu.stores.dynamodb import items
from kefu.stores.dynamodb.table import Row, text

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import ScanInputTypeDef

    from kefu.stores.dynamodb.table import Table


def sessions_of(table: Table, user: str, cursor: str | None) -> UserSessions:
    """The sessions in the next megabyte of the table. The cursor is the last item's key."""
    scan: ScanInputTypeDef = {
        "TableName": table.name,
        "FilterExpression": "sk = :session AND #user = :user",
        "ExpressionAttributeNames": {"#user": "user"},
        "ExpressionAttributeValues": {":session": text(items.SESSION), ":user": text(user)},
        "ProjectionExpression": "pk, sk",
        "ConsistentRead": True,
    }
    if cursor is not None:
        scan["ExclusiveStartKey"] = Row(*json.loads(cursor)).key()
    answer = table.client.scan(**scan)
    last = answer.get("LastEvaluatedKey")
    return UserSessions(
        [SessionId(items.row_of(item).pk.partition("#")[2]) for item in answer["Items"]],
        json.dumps(items.row_of(last)) if last else None,
        answer["ScannedCount"],
    )
