"""Calls in a DynamoDB table: in a partition of their own, with a shorter life than their chat."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from kefu.capture import Content
from kefu.sessions import CallRecord, Retention, SessionId, StoredMessage
from kefu.stores import dynamodb_items as items
from kefu.stores.dynamodb_table import Row, Table, value_of
from kefu.stores.dynamodb_turns import DynamoTurns
from kefu.stores.packed_calls import REFERRED, PackedCall, contents, pack, text_of

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from kefu.stores.dynamodb_table import Item

PART: Final = 350 * 1024
"""Bytes in one item, which may have 400 KB."""

DAY: Final = 86400.0

REMEMBERED: Final = 4096
"""Texts of which a process knows that they are there."""


class DynamoCalls(DynamoTurns):
    def __init__(self, table: Table, clock: Callable[[], float], retention: Retention) -> None:
        super().__init__(table, clock, retention)
        self._written: dict[tuple[SessionId, str], float] = {}
        """When this process wrote a text: it need not be written with every call."""

    async def record(self, call: CallRecord, known: Sequence[StoredMessage] | None = None) -> None:
        now = self._clock()
        if known is None:
            known = await self.messages(call.session_id, limit=REFERRED, now=now)
        packed = pack(call, known)
        pk = items.calls_pk(call.session_id)
        place = f"call#{call.message_id:010}#{call.number:04}"
        puts = [self._put_parts(Row(pk, place), packed.record, call.created_at)]
        new = {name: text for name, text in packed.texts.items() if self._is_new(call, name, now)}
        for name, text in new.items():
            # A day longer than a call: that is for how long it is not written again.
            puts.append(self._put_parts(Row(pk, f"text#{name}"), text, now + DAY))
        written = [row for rows in await asyncio.gather(*puts) for row in rows]
        # Afterwards: whoever deletes the session meanwhile would not find what comes later.
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
            found = self._table.query(client, items.calls_pk(session_id), (" ", "~"))
            kept = dict(_bodies(item for item in found if items.time_in(item, "created") > oldest))
            calls = [PackedCall(body) for sk, body in kept.items() if sk.startswith("call#")]
            texts = {
                sk.removeprefix("text#"): text_of(body)
                for sk, body in kept.items()
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
        found = self._table.query(client, items.session_pk(session_id), bounds)
        return contents([one for item in found for one in items.turn_in(item).messages(0.0)])

    def _is_new(self, call: CallRecord, name: str, now: float) -> bool:
        return abs(now - self._written.get((call.session_id, name), -DAY)) >= DAY

    def _remember(self, session_id: SessionId, names: Iterable[str], now: float) -> None:
        self._written |= {(session_id, name): now for name in names}
        for oldest in list(self._written)[:-REMEMBERED]:
            del self._written[oldest]


def _bodies(found: Iterator[Item]) -> Iterator[tuple[str, bytes]]:
    """Parts put together: `(sort key without the part's number, body)`; no incomplete ones."""
    for sk, group in groupby(found, lambda item: items.text_in(item, "sk").rpartition("#")[0]):
        parts = list(group)
        count = items.whole_in(parts[0], "parts")
        if len(parts) >= count:
            yield sk, b"".join(part["part"]["B"] for part in parts[:count])
