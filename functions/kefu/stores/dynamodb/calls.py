"""Stores upstream calls in DynamoDB, in a separate partition, because they expire earlier."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from kefu.sessions.body_dedup import Content
from kefu.sessions.model import CallRecord, Retention, SessionId, StoredMessage
from kefu.stores.dynamodb import items
from kefu.stores.dynamodb.attendance import DynamoAttendance
from kefu.stores.dynamodb.table import Row, Table, value_of
from kefu.stores.packed_calls import REFERRED, PackedCall, contents, pack, text_of

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from kefu.stores.dynamodb.table import Item

PART: Final = 350 * 1024
"""The largest part of a body in one item, in bytes. DynamoDB limits an item to 400 KB."""

DAY: Final = 86400.0
"""One day in seconds."""

REMEMBERED: Final = 4096
"""The number of texts that a process remembers as written, to avoid writing them again."""


class DynamoCalls(DynamoAttendance):
    """Every method raises StoreUnavailable if DynamoDB fails, throttles or is too slow."""

    def __init__(self, table: Table, clock: Callable[[], float], retention: Retention) -> None:
        super().__init__(table, clock, retention)
        self._written: dict[tuple[SessionId, str], float] = {}
        """When this process wrote a text, so that it does not write it with every call.

        The keys are `(session id, digest)`, the values Unix times.
        """

    async def record(self, call: CallRecord, known: Sequence[StoredMessage] | None = None) -> None:
        now = self._clock()
        if known is None:
            known = await self.messages(call.session_id, limit=REFERRED, now=now)
        packed = pack(call, known)
        pk = items.calls_pk(call.session_id)
        sort_key = f"call#{call.message_id:010}#{call.number:04}"
        puts = [self._put_parts(Row(pk, sort_key), packed.record, call.created_at)]
        new = {name: text for name, text in packed.texts.items() if self._is_new(call, name, now)}
        for name, text in new.items():
            # A process writes a text once a day at most. So a text must expire a day after the
            # last call that refers to it.
            puts.append(self._put_parts(Row(pk, f"text#{name}"), text, now + DAY))
        written = [row for rows in await asyncio.gather(*puts) for row in rows]
        # A concurrent deletion of the session may have missed these items, so check afterwards.
        if await self._session(call.session_id, now):
            self._remember(call.session_id, new, now)
        else:
            await self._table.run(lambda client: items.delete_rows(self._table, client, written))

    async def _put_parts(self, row: Row, body: bytes, at: float) -> list[Row]:
        parts = [body[start : start + PART] for start in range(0, len(body), PART)]
        rows = [Row(row.pk, f"{row.sk}#{number:02}") for number in range(len(parts))]
        fixed = {
            "created": value_of(at),
            "parts": value_of(len(parts)),
            "expires": value_of(int(at + self._retention.raw) + 1),
        }

        def put(client: DynamoDBClient) -> None:
            for one, part in zip(rows, parts, strict=True):
                self._table.put(client, one, {**fixed, "part": {"B": part}})

        await self._table.run(put)
        return rows

    async def calls(self, session_id: SessionId) -> Sequence[CallRecord]:
        now = self._clock()
        if not await self._session(session_id, now):
            return []
        oldest = now - self._retention.raw

        def work(client: DynamoDBClient) -> list[CallRecord]:
            stored = self._table.query(client, items.calls_pk(session_id), (" ", "~"))
            valid = (item for item in stored if items.time_in(item, "created") > oldest)
            bodies = dict(_bodies(valid))
            calls = [PackedCall(body) for sk, body in bodies.items() if sk.startswith("call#")]
            texts = {
                sk.removeprefix("text#"): text_of(body)
                for sk, body in bodies.items()
                if sk.startswith("text#")
            }
            messages = self._contents(client, session_id, {n for one in calls for n in one.ids})
            return [call.call(session_id, messages, texts) for call in calls]

        return await self._table.run(work)

    async def delete(self, session_id: SessionId) -> None:
        self._written = {key: at for key, at in self._written.items() if key[0] != session_id}
        await super().delete(session_id)

    def _contents(
        self, client: DynamoDBClient, session_id: SessionId, ids: set[int]
    ) -> dict[int, Content]:
        if not ids:
            return {}
        bounds = (items.turn_sk(max(0, min(ids) - 1)), items.turn_sk(max(ids)))
        turns = map(items.turn_in, self._table.query(client, items.session_pk(session_id), bounds))
        return contents([message for turn in turns for message in turn.messages(0.0)])

    def _is_new(self, call: CallRecord, name: str, now: float) -> bool:
        return abs(now - self._written.get((call.session_id, name), -DAY)) >= DAY

    def _remember(self, session_id: SessionId, names: Iterable[str], now: float) -> None:
        self._written |= {(session_id, name): now for name in names}
        for oldest in list(self._written)[:-REMEMBERED]:
            del self._written[oldest]


def _bodies(stored: Iterator[Item]) -> Iterator[tuple[str, bytes]]:
    """Join the parts of each body, and yield `(sort key without the part number, body)`.

    A body with missing parts is skipped.
    """
    for sk, group in groupby(stored, lambda item: items.text_in(item, "sk").rpartition("#")[0]):
        parts = list(group)
        count = items.whole_in(parts[0], "parts")
        if len(parts) >= count:
            yield sk, b"".join(part["part"]["B"] for part in parts[:count])
