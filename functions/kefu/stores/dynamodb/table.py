"""Calls one DynamoDB table from worker threads, because boto3 blocks, and converts its errors.

A worker thread imports boto3 on first use, so that a cold start does not wait half a second.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

from kefu.errors import StoreUnavailable
from kefu.stores import aws
from kefu.stores.aws import RANDOM

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

MAX_THREADS: Final = 16

BATCH_TRIES: Final = 7
BATCH_PAUSE: Final = 0.05
"""Seconds before the second attempt of a batch. Each pause is twice the last, 3 s in total."""


class Row(NamedTuple):
    """The key of one item."""

    pk: str
    sk: str

    def key(self) -> Values:
        return {"pk": {"S": self.pk}, "sk": {"S": self.sk}}


class Change(NamedTuple):
    """A DynamoDB update expression with its condition, attribute names and values."""

    expression: str
    condition: str | None
    names: Mapping[str, str]
    values: Values


class Table:
    """A DynamoDB table. `run` makes a call in a worker thread."""

    def __init__(self, name: str, endpoint: str | None) -> None:
        self.name = name
        self._endpoint = endpoint
        self._threads = _workers()
        self._connecting = threading.Lock()
        self._client: DynamoDBClient | None = None

    def start(self, work: Callable[[], object]) -> None:
        """Start a call in a thread, and ignore its result and its errors."""
        self._threads.submit(self._call, work)

    async def run(self, work: Callable[[], T], *, tries: int = 2) -> T:
        """Run `work` in a thread and return its result. `work` may use `client`.

        `tries`: the number of attempts. Use 1 if `work` is not idempotent: DynamoDB may apply a
        change whose response is lost. Raises StoreUnavailable if DynamoDB fails, throttles or does
        not respond within a second.
        """
        try:
            call = self._threads.submit(self._call, work, tries)
        except RuntimeError as error:
            raise StoreUnavailable("DynamoDB: the store is closed") from error
        return await asyncio.wrap_future(call)

    def close(self) -> None:
        """Close the connections. Running calls end at their own time limits."""
        self._threads.shutdown(wait=False)
        if self._client is not None:
            self._client.close()

    def disconnect(self) -> None:
        """Wait for the running calls, then close the connections. The next call reconnects."""
        ending, self._threads = self._threads, _workers()
        ending.shutdown(wait=True)
        if self._client is not None:
            self._client.close()

    def read(self, row: Row, *, consistent: bool = True) -> Item:
        """Return the item; an empty mapping if it does not exist."""
        answer = self.client.get_item(TableName=self.name, Key=row.key(), ConsistentRead=consistent)
        return answer.get("Item", {})

    def update(
        self,
        row: Row,
        change: Change,
        *,
        returns: Literal["ALL_NEW", "ALL_OLD"] = "ALL_NEW",
    ) -> tuple[bool, Item]:
        """Update an item, if the condition of the change holds.

        Returns `(True, the new item)`, or `(False, the current item)` if the condition failed.
        With `ALL_OLD` the first is `(True, the item before the update)`. The current item may be
        empty, because dynalite does not return the item after a failed condition.
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
            return True, self.client.update_item(**update).get("Attributes", {})
        except self.client.exceptions.ConditionalCheckFailedException as refused:
            return False, refused.response.get("Item", {})  # type: ignore[return-value]

    def put(self, row: Row, values: Values, *, replace: bool = True) -> tuple[bool, Item]:
        """Write a whole item. `replace=False`: only if no item has this key.

        Returns `(True, {})`, or `(False, the current item)` as `update` does.
        """
        put: PutItemInputTypeDef = {"TableName": self.name, "Item": {**row.key(), **values}}
        if not replace:
            put["ConditionExpression"] = "attribute_not_exists(pk)"
            put["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        try:
            self.client.put_item(**put)
        except self.client.exceptions.ConditionalCheckFailedException as refused:
            return False, refused.response.get("Item", {})  # type: ignore[return-value]
        return True, {}

    def query(
        self,
        pk: str,
        between: tuple[str, str],
        *,
        newest: int | None = None,
        keys_only: bool = False,
    ) -> Iterator[Item]:
        """Yield the items of a partition in the order of their sort keys, with consistent reads.

        `between`: the first and the last sort key, both included. `newest`: reverse the order, and
        read pages of this size when the caller needs them.
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
            answer = self.client.query(**query)
            yield from answer["Items"]
            if not (last := answer.get("LastEvaluatedKey")):
                return
            query["ExclusiveStartKey"] = last

    def batch(self, send: Callable[[Any], Any], requests: Any) -> None:
        """Send a batch, and resend its unprocessed requests with exponential back-off.

        `send` returns the unprocessed requests. Raises StoreUnavailable if requests are left in the
        end.
        """
        for number in range(BATCH_TRIES):
            if number:
                longest = BATCH_PAUSE * 2 ** (number - 1)
                threading.Event().wait(RANDOM.uniform(longest / 2, longest))
            requests = send(requests)
            if not requests:
                return
        raise StoreUnavailable(f"DynamoDB {self.name}: a batch was not processed in time")

    def _call(self, work: Callable[[], T], tries: int = 2) -> T:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return work()
        except (BotoCoreError, ClientError) as error:
            if tries > 1:
                threading.Event().wait(RANDOM.uniform(0.01, 0.1))
                return self._call(work, tries - 1)
            what = type(error).__name__
            if isinstance(error, ClientError):
                what = error.response.get("Error", {}).get("Code", "unknown")
            raise StoreUnavailable(f"DynamoDB {self.name}: {what}") from error

    @property
    def client(self) -> DynamoDBClient:
        """To be called in a worker thread, because connecting takes long."""
        with self._connecting:
            if self._client is None:
                self._client = aws.client(
                    "dynamodb",
                    endpoint=self._endpoint,
                    connect_timeout=1,
                    read_timeout=1,
                    # The caller retries, because only it knows which operations are idempotent.
                    retries={"mode": "standard", "total_max_attempts": 1},
                    max_pool_connections=MAX_THREADS,
                    tcp_keepalive=True,
                )
            return self._client


def _workers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="kefu-dynamodb")


def change(expression: str, condition: str | None = None, **values: float | str) -> Change:
    """Build a Change. In the expressions `#name` is an attribute and `:name` a keyword argument."""
    names = re.findall(r"#(\w+)", f"{expression} {condition}")
    written = {f":{name}": value_of(value) for name, value in values.items()}
    return Change(expression, condition, {f"#{name}": name for name in names}, written)


def value_of(value: float | str) -> UniversalAttributeValueTypeDef:
    return text(value) if isinstance(value, str) else number(value)


def text(value: str) -> UniversalAttributeValueTypeDef:
    return {"S": value}


def number(value: float) -> UniversalAttributeValueTypeDef:
    """Encode a number. Seven decimals are enough to restore a Unix time of this century exactly."""
    return {"N": str(int(value)) if isinstance(value, int) else f"{value:.7f}"}


def number_in(item: Item, name: str) -> float | None:
    """Return a number attribute; None if it is absent or not a number."""
    text = item.get(name, {}).get("N")
    return None if text is None else float(text)
