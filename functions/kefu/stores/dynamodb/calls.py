"""Stores upstream calls in DynamoDB, in a separate partition, because they expire earlier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from kefu.sessions.store.model import CallRecord, SessionId
from kefu.stores.dynamodb import items
from kefu.stores.dynamodb.attendance import DynamoAttendance
from kefu.stores.dynamodb.table import Row, value_of
from kefu.stores.folded_calls import Known, known
from kefu.stores.packed_calls import CallPlace, pack, unpack

if TYPE_CHECKING:
    from kefu.stores.dynamodb.table import Item

PART_BYTES: Final = 350 * 1024
"""The largest part of a body in one item, in bytes. DynamoDB limits an item to 400 KB."""


class DynamoCalls(DynamoAttendance):
    """Every method raises StoreUnavailable if DynamoDB fails, throttles or is too slow."""

    async def record(self, call: CallRecord) -> None:
        now = self._clock()
        pk = items.calls_pk(call.session_id)
        row = Row(pk, f"call#{call.message_id:010}#{call.number:04}")
        at = call.created_at
        written = await self._put_parts(row, pack(call), at, int(at + self._retention.raw) + 1)
        # A concurrent deletion of the session may have missed these items, so check afterwards.
        if not await self._session(call.session_id, now):
            await self._table.run(lambda: items.delete_rows(self._table, written))

    async def _put_parts(self, row: Row, body: bytes, at: float, expires: int) -> list[Row]:
        parts = [body[start : start + PART_BYTES] for start in range(0, len(body), PART_BYTES)]
        rows = [Row(row.pk, f"{row.sk}#{number:02}") for number in range(len(parts))]
        fixed = {
            "created": value_of(at),
            "parts": value_of(len(parts)),
            "expires": value_of(expires),
        }

        def put() -> None:
            for one, part in zip(rows, parts, strict=True):
                self._table.put(one, {**fixed, "part": {"B": part}})

        await self._table.run(put)
        return rows

    async def calls(self, session_id: SessionId) -> Sequence[CallRecord]:
        now = self._clock()
        if not await self._session(session_id, now):
            return []
        oldest = now - self._retention.raw

        def work() -> list[CallRecord]:
            stored = self._table.query(items.calls_pk(session_id), (" ", "~"))
            bodies = [one for one in _bodies(stored) if one.created > oldest]
            earlier = cache(lambda: self._known(session_id, bodies))
            calls = [one for one in bodies if one.kind == "call"]
            return [unpack(one.place(session_id), one.body, earlier) for one in calls]

        return await self._table.run(work)

    def _known(self, session_id: SessionId, bodies: Sequence[_CallBody]) -> Known:
        bounds = items.TURNS
        found = self._table.query(items.session_pk(session_id), bounds)
        turns = [items.turn_in(item) for item in found]
        texts = [(one.key, one.body) for one in bodies if one.kind == "text"]
        return known([message for turn in turns for message in turn.messages(0.0)], texts)


class _CallBody(NamedTuple):
    """A record of a call, or a text of an earlier version: its parts, joined."""

    kind: str
    key: str
    """`MESSAGE#NUMBER` of a call, or the digest of a text."""
    created: float
    body: bytes

    def place(self, session_id: SessionId) -> CallPlace:
        message, _, number = self.key.partition("#")
        return CallPlace(session_id, int(message), int(number), self.created)


def _bodies(stored: Iterator[Item]) -> Iterator[_CallBody]:
    """A record without a part is damaged. Parts of a longer earlier record may be left."""
    for sk, group in groupby(stored, lambda item: items.text_in(item, "sk").rpartition("#")[0]):
        parts = list(group)
        count = items.whole_in(parts[0], "parts")
        body = b"".join(part.get("part", {}).get("B", b"") for part in parts[:count])
        kind, _, key = sk.partition("#")
        yield _CallBody(kind, key, items.time_in(parts[0], "created"), body)
