"""Sessions and their messages in a DynamoDB table.

No transaction: each is twice the price, and none is needed. The session's item gives the numbers
out, the item of a client's id says whose a number is, and what a session that was deleted meanwhile
leaves behind is removed by whoever wrote it.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kefu.sessions import (
    LEASE,
    Asked,
    Begun,
    Ended,
    Rating,
    Session,
    SessionId,
    StoredMessage,
)
from kefu.stores import dynamodb_items as items
from kefu.stores.dynamodb_table import Row, change, text, value_of
from kefu.stores.dynamodb_upkeep import DynamoUpkeep, runs_for, whose
from kefu.stores.turns import Turn, newest_messages

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from kefu.stores.dynamodb_table import Item

_BEGIN: Final = (
    "SET #title = if_not_exists(#title, :title), #config = if_not_exists(#config, :config),"
    " #created = if_not_exists(#created, :now), #renew = if_not_exists(#renew, :turns_expire),"
    " #updated = :now, #status = :pending, #lease = :lease, #active = :active, #expires = :expires"
    " ADD #seq :two, #turns :one"
)
_RUNS_NO_MORE: Final = (
    "#status IN (:failed, :partial) OR (#status = :pending AND #lease <= :now) OR #by = :by"
)


class DynamoTurns(DynamoUpkeep):
    """Every method raises StoreUnavailable when DynamoDB fails, throttles or is too slow."""

    async def secret(self, candidate: str) -> str:
        def work(client: DynamoDBClient) -> str:
            table, row = self._table, items.SECRET
            done, kept = table.put(client, row, {"value": text(candidate)}, replace=False)
            kept = kept or table.read(client, row, consistent=True)
            return candidate if done else items.text_in(kept, "value")

        return await self._table.run(work)

    async def session(self, session_id: SessionId) -> Session | None:
        item = await self._session(session_id, self._clock())
        return items.session_in(item) if item else None

    async def begin(self, session: Session, asked: Asked, now: float) -> Begun:
        old = await self._use(session, now)
        number = items.whole_in(old, "seq") + 1
        moving = asyncio.create_task(self._list(session.id, items.text_in(old, "active"), now))
        try:
            return await self._begin(session.id, asked, number, old, now)
        finally:
            await moving

    async def _use(self, session: Session, now: float) -> Item:
        """Two numbers more for a session, which is made when it may be; the item before."""
        may_create = session.created_at == now
        oldest = now - self._retention.session
        use = change(
            _BEGIN,
            "#updated > :oldest" + (" OR attribute_not_exists(pk)" if may_create else ""),
            title=session.title,
            config=session.config_id,
            now=now,
            turns_expire=self._turns_expire(now),
            pending="pending",
            lease=now + LEASE,
            active=items.active_at(now),
            expires=int(now + self._retention.session) + 1,
            two=2,
            one=1,
            oldest=oldest,
        )
        for _ in range(2):
            done, old = await self._update(items.session_row(session.id), use, "ALL_OLD")
            if done:
                return old
            if not may_create:
                break
            await self.delete(session.id)  # expired, and not deleted yet
        raise KeyError(session.id)

    async def _begin(
        self, session_id: SessionId, asked: Asked, number: int, old: Item, now: float
    ) -> Begun:
        turn = Turn.begun(session_id, number, asked, now)
        by = uuid.uuid4().hex
        if asked.client_message_id is not None:
            first = await self._claim(turn, by)
            if first.question_id != number:
                return await self._again(first, number, old, by, now)
        await self._put_turn(turn)
        return Begun(turn.message(now))

    async def _claim(self, turn: Turn, by: str) -> Turn:
        """The turn that a client's id belongs to: this one, or one begun before."""
        row = items.client_row(turn.session_id, turn.client_message_id or "")
        values = {
            "number": value_of(turn.question_id),
            "asked": value_of(turn.asked_at),
            "by": text(by),
            "expires": value_of(self._turns_expire(turn.asked_at)),
        }

        def work(client: DynamoDBClient) -> Item:
            done, first = self._table.put(client, row, values, replace=False)
            return first if done or first else self._table.read(client, row, consistent=True)

        first = await self._table.run(work)
        if not first or items.text_in(first, "by") == by:
            return turn
        asked = items.time_in(first, "asked")
        number = items.whole_in(first, "number")
        return turn._replace(question_id=number, asked_at=asked, lease=asked + LEASE)

    async def _again(self, first: Turn, number: int, old: Item, by: str, now: float) -> Begun:
        """A message that came before, as turn `first`, and was not to have the new number."""
        row = items.turn_row(first.session_id, first.question_id)
        kept = await self._read(row)
        turn = items.turn_in(kept) if kept else first  # about to be written, or never to be
        if again := turn.met_again(now):
            await self._give_back(turn, number, old, now)
            return again
        lease = now + LEASE
        if kept:
            reopen = change(
                "SET #status = :pending, #lease = :lease, #by = :by REMOVE #answer ADD #again :one",
                _RUNS_NO_MORE,
                pending="pending",
                failed="failed",
                partial="partial",
                lease=lease,
                now=now,
                by=by,
                one=1,
            )
            mine, kept = await self._update(row, reopen)
        else:
            mine = await self._put_turn(first._replace(lease=lease), replace=False)
        turn = turn._replace(status="pending", lease=lease)
        if mine:
            await self._give_number_back(first.session_id, number)
            return Begun(turn.message(now), again=items.whole_in(kept, "again"))
        await self._give_back(turn, number, old, now)
        return Begun(turn.message(now), busy_for=LEASE)  # somebody else was faster

    async def finish(
        self, session_id: SessionId, message_id: int, ended: Ended, now: float, again: int = 0
    ) -> StoredMessage | None:
        end = change(
            "SET #status = :status, #answered = :now" + (", #answer = :text" * bool(ended.text)),
            runs_for(again),
            status=ended.status,
            now=now,
            pending="pending",
            **whose(again),
            **({"text": ended.text} if ended.text else {}),
        )
        row = items.turn_row(session_id, message_id)
        done, kept = await self._update(row, end)
        if not done:
            session = await self._session(session_id, now)
            kept = (kept or await self._read(row)) if session else {}
        elif not await self._count(session_id, ended, now):
            await self._table.run(lambda client: self._remove(client, kept))
            return None
        return items.turn_in(kept).answer_message(now) if kept else None

    async def messages(
        self, session_id: SessionId, *, before: int | None = None, limit: int = 20, now: float
    ) -> Sequence[StoredMessage]:
        def work(client: DynamoDBClient) -> Sequence[StoredMessage]:
            pk, last = items.session_pk(session_id), items.SESSION
            session: Item = {}
            if before is not None:
                session = self._table.read(client, Row(pk, last), consistent=True)
                last = items.turn_sk(before)
            bounds = (items.FIRST_TURN, last)
            # A turn is two messages as a rule, and the session's own item comes first.
            found = self._table.query(client, pk, bounds, newest=limit // 2 + 2)
            if before is None:
                session = next(found, {})
            if not self._is_kept(session, now):
                return []
            return newest_messages(map(items.turn_in, found), before, limit, now)

        return await self._table.run(work)

    async def rate(
        self, session_id: SessionId, client_message_id: str, rating: Rating | None
    ) -> bool:
        pointer, session = await asyncio.gather(
            self._read(items.client_row(session_id, client_message_id)),
            self._session(session_id, self._clock()),
        )
        if not pointer or not session:
            return False
        answered = "attribute_exists(#answer)"
        if rating is None:
            rate = change("REMOVE #rating", answered)
        else:
            rate = change("SET #rating = :rating", answered, rating=rating)
        row = items.turn_row(session_id, items.whole_in(pointer, "number"))
        return (await self._update(row, rate))[0]

    async def delete(self, session_id: SessionId) -> None:
        def work(client: DynamoDBClient) -> None:
            # The session first: from now on nothing begins, and what has begun removes itself.
            key = items.session_row(session_id).key()
            gone = client.delete_item(TableName=self._table.name, Key=key, ReturnValues="ALL_OLD")
            if active := items.text_in(gone.get("Attributes", {}), "active"):
                listed = items.active_row(active, session_id)
                items.delete_rows(self._table, client, [listed])
            for pk in (items.session_pk(session_id), items.calls_pk(session_id)):
                items.delete_partition(self._table, client, pk)

        await self._table.run(work)
