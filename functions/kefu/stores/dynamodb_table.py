"""One DynamoDB table, called from worker threads: connecting, faults, conditional updates.

boto3 is loaded by a worker thread on first use: it costs half a second of work that a cold start
must not wait for. Importing this module does not load it.
"""

from __future__ import annotations

import asyncio
import random
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from kefu.errors import StoreUnavailable
from kefu.lean_typing import NamedTuple
from kefu.stores.aws import dynamodb

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import (
        AttributeValueTypeDef,
        PutItemInputTypeDef,
        QueryInputTypeDef,
        UniversalAttributeValueTypeDef,
        UpdateItemInputTypeDef,
    )

    Item = Mapping[str, AttributeValueTypeDef]
    Values = dict[str, UniversalAttributeValueTypeDef]

T = TypeVar("T")

THREADS: Final = 16


class Row(NamedTuple):
    """The key of one item."""

    pk: str
    sk: str

    def key(self) -> Values:
        return {"pk": {"S": self.pk}, "sk": {"S": self.sk}}


class Change(NamedTuple):
    """What an update does to an item: a DynamoDB update expression and its values by name."""

    expression: str
    condition: str | None
    names: Mapping[str, str]
    values: Values


class Table:
    """`run` raises StoreUnavailable when DynamoDB fails, throttles or is silent for a second."""

    def __init__(self, name: str, endpoint: str | None) -> None:
        self.name = name
        self._endpoint = endpoint
        self._threads = _workers()
        self._connecting = threading.Lock()
        self._client: DynamoDBClient | None = None

    def start(self, work: Callable[[DynamoDBClient], object]) -> None:
        """Begin a call that nobody waits for, and whose failure does not matter."""
        self._threads.submit(self._call, work)

    async def run(self, work: Callable[[DynamoDBClient], T], *, tries: int = 2) -> T:
        """`tries=1`: for what must not be done twice when only its answer was lost."""
        try:
            call = self._threads.submit(self._call, work, tries)
        except RuntimeError as error:
            raise StoreUnavailable("DynamoDB: the store is closed") from error
        return await asyncio.wrap_future(call)

    def close(self) -> None:
        """Give up the connections; calls under way end by their own time limits."""
        self._threads.shutdown(wait=False)
        if self._client is not None:
            self._client.close()

    def disconnect(self) -> None:
        """Wait for the calls under way, then give up the connections; the next call opens new."""
        ending, self._threads = self._threads, _workers()
        ending.shutdown(wait=True)
        if self._client is not None:
            self._client.close()

    def read(self, client: DynamoDBClient, row: Row, *, consistent: bool) -> Item:
        """The item, empty when there is none."""
        answer = client.get_item(TableName=self.name, Key=row.key(), ConsistentRead=consistent)
        return answer.get("Item", {})

    def update(
        self,
        client: DynamoDBClient,
        row: Row,
        change: Change,
        *,
        returns: Literal["ALL_NEW", "ALL_OLD"] = "ALL_NEW",
    ) -> tuple[bool, Item]:
        """(True, the new item); when the condition failed (False, the item that was there).

        `ALL_OLD`: the item as it was before. dynalite never returns the item that was there when a
        condition failed: then it is empty.
        """
        update: UpdateItemInputTypeDef = {
            "TableName": self.name,
            "Key": row.key(),
            "UpdateExpression": change.expression,
            "ExpressionAttributeNames": change.names,
            "ReturnValues": returns,
        }
        if change.values:
            update["ExpressionAttributeValues"] = change.values
        if change.condition is not None:
            update["ConditionExpression"] = change.condition
            update["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        try:
            return True, client.update_item(**update).get("Attributes", {})
        except client.exceptions.ConditionalCheckFailedException as refused:
            return False, refused.response.get("Item", {})  # type: ignore[return-value]

    def put(
        self, client: DynamoDBClient, row: Row, values: Values, *, replace: bool = True
    ) -> tuple[bool, Item]:
        """Write a whole item. Without `replace` only where there is none, else as `update`."""
        put: PutItemInputTypeDef = {"TableName": self.name, "Item": {**row.key(), **values}}
        if not replace:
            put["ConditionExpression"] = "attribute_not_exists(pk)"
            put["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        try:
            client.put_item(**put)
        except client.exceptions.ConditionalCheckFailedException as refused:
            return False, refused.response.get("Item", {})  # type: ignore[return-value]
        return True, {}

    def query(
        self,
        client: DynamoDBClient,
        pk: str,
        between: tuple[str, str],
        *,
        newest: int | None = None,
        keys_only: bool = False,
    ) -> Iterator[Item]:
        """The items of a partition by sort key, both ends included, as they were just now.

        `newest`: from the end, so many at a time; the next are asked for when they are wanted.
        """
        query: QueryInputTypeDef = {
            "TableName": self.name,
            "KeyConditionExpression": "pk = :pk AND sk BETWEEN :low AND :high",
            "ExpressionAttributeValues": dict(
                zip((":pk", ":low", ":high"), map(text, (pk, *between)), strict=True)
            ),
            "ConsistentRead": True,
            "ScanIndexForward": newest is None,
        }
        if newest is not None:
            query["Limit"] = newest
        if keys_only:
            query["ProjectionExpression"] = "pk, sk"
        while True:
            answer = client.query(**query)
            yield from answer["Items"]
            if not (last := answer.get("LastEvaluatedKey")):
                return
            query["ExclusiveStartKey"] = last

    def create(self, client: DynamoDBClient, *, with_ttl: bool) -> None:
        """The same table as the SAM template's, ready for use when this returns."""
        client.create_table(
            TableName=self.name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "S"},
            ],
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
        )
        client.get_waiter("table_exists").wait(
            TableName=self.name, WaiterConfig={"Delay": 1, "MaxAttempts": 60}
        )
        if with_ttl:
            client.update_time_to_live(
                TableName=self.name,
                TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"},
            )

    def _call(self, work: Callable[[DynamoDBClient], T], tries: int = 2) -> T:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return work(self._connected())
        except (BotoCoreError, ClientError) as error:
            if tries > 1:
                threading.Event().wait(random.uniform(0.01, 0.1))  # noqa: S311 - spreads load
                return self._call(work, tries - 1)
            what = type(error).__name__
            if isinstance(error, ClientError):
                what = error.response.get("Error", {}).get("Code", "unknown")
            raise StoreUnavailable(f"DynamoDB {self.name}: {what}") from error

    def _connected(self) -> DynamoDBClient:
        with self._connecting:
            if self._client is None:
                self._client = dynamodb(self._endpoint, connections=THREADS)
            return self._client


def _workers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="kefu-dynamodb")


def change(expression: str, condition: str | None = None, **values: float | str) -> Change:
    """`#name` stands for the attribute of that name, `:name` for the value given for it."""
    names = re.findall(r"#(\w+)", f"{expression} {condition}")
    written = {f":{name}": value_of(value) for name, value in values.items()}
    return Change(expression, condition, {f"#{name}": name for name in names}, written)


def value_of(value: float | str) -> UniversalAttributeValueTypeDef:
    return text(value) if isinstance(value, str) else number(value)


def text(value: str) -> UniversalAttributeValueTypeDef:
    return {"S": value}


def number(value: float) -> UniversalAttributeValueTypeDef:
    """Seven decimals: every float of this century's seconds comes back as it was."""
    return {"N": str(value) if isinstance(value, int) else f"{value:.7f}"}


def number_in(item: Item, name: str) -> float | None:
    """A number attribute; None when it is absent or not a number."""
    text = item.get(name, {}).get("N")
    return None if text is None else float(text)
