"""Stores sessions and their messages in a DynamoDB table.

The store uses no transactions, because they cost twice as much. Conditional writes are sufficient:

- The session's item assigns the turn numbers, with an atomic counter.
- The `client#` item maps a client message id to one turn number.
- A writer deletes its own items if the session was deleted in the meantime.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kefu.images import MAX_IMAGES
from kefu.sessions.store.model import (
    LEASE,
    BeginResult,
    NewMessage,
    Rating,
    Session,
    SessionId,
    StoredMessage,
    TurnOutcome,
)
from kefu.sessions.store.overview import LINE_LENGTH
from kefu.stores.dynamodb import items
from kefu.stores.dynamodb.passes import DynamoPasses
from kefu.stores.dynamodb.queues import queues_of, rows_of
from kefu.stores.dynamodb.table import Row, change, text, value_of
from kefu.stores.dynamodb.upkeep import count, runs_for
from kefu.stores.turns import (
    DayChange,
    StoredTurn,
    answered,
    date_of,
    newest_comment,
    newest_messages,
    rated,
)

if TYPE_CHECKING:
    from kefu.stores.dynamodb.table import Item

_BEGIN: Final = (
    "SET #title = if_not_exists(#title, :title), #config = if_not_exists(#config, :config),"
    " #created = if_not_exists(#created, :now), #renew = if_not_exists(#renew, :turns_expire),"
    " #updated = :now, #status = :pending, #lease = :lease, #active = :active, #expires = :expires,"
    " #line = :line, #line_by = :nobody"
)
_SET_USER: Final = ", #user = if_not_exists(#user, :user)"
_ADD_TURN: Final = " ADD #seq :two, #turns :one"
_MAY_RETRY: Final = "(#status = :known AND (#status <> :pending OR #lease <= :now)) OR #by = :by"


class DynamoTurns(DynamoPasses):
    """Every method raises StoreUnavailable if DynamoDB fails, throttles or is too slow."""

    async def secret(self, candidate: str) -> str:
        def work() -> str:
            table, row = self._table, items.SECRET
            done, stored = table.put(row, {"value": text(candidate)}, replace=False)
            stored = stored or table.read(row)
            return candidate if done else items.text_in(stored, "value")

        return await self._table.run(work)

    async def session(self, session_id: SessionId) -> Session | None:
        pk, bounds = items.session_pk(session_id), (items.SESSION, items.TRIM_STATE)
        stored = await self._table.run(lambda: list(self._table.query(pk, bounds)))
        if not stored or not self._is_kept(stored[0], self._clock()):
            return None
        session = items.session_in(stored[0])
        return session._replace(trim_state=items.text_in(stored[-1], "state"))

    async def begin(self, session: Session, asked: NewMessage, now: float) -> BeginResult:
        old = await self._use(session, asked.content, now)
        number = items.whole_in(old, "seq") + 1
        moving = asyncio.create_task(self._list(session, old, now))
        try:
            return await self._begin(session.id, asked, number, old, now)
        finally:
            await moving

    async def _use(self, session: Session, question: str, now: float) -> Item:
        """Reserve two message ids in the session's item, and return the item before the update.

        `question` becomes the newest line of the session. Creates the session if its creation time
        is `now`. Otherwise, raises KeyError for a missing or expired session.
        """
        may_create = session.created_at == now
        oldest = now - self._retention.session
        use = change(
            _BEGIN + _SET_USER * bool(session.user) + _ADD_TURN,
            "#updated > :oldest" + (" OR attribute_not_exists(pk)" if may_create else ""),
            title=session.title,
            **({"user": session.user} if session.user else {}),
            config=session.config_id,
            now=now,
            turns_expire=self._turns_expire(now),
            pending="pending",
            line=question[:LINE_LENGTH],
            nobody="",
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
            await self.delete(session.id)  # the item has expired, but TTL has not deleted it yet
        raise KeyError(session.id)

    async def _begin(
        self, session_id: SessionId, asked: NewMessage, number: int, old: Item, now: float
    ) -> BeginResult:
        former = items.time_in(old, "updated")
        turn = StoredTurn.begun(session_id, number, asked, now, former)
        by = uuid.uuid4().hex
        if asked.client_message_id is not None:
            first = await self._claim(turn, by)
            if first.question_id != number:
                return await self._again(asked, first, number, old, by, now)
        await self._put_turn(turn)
        return BeginResult(turn.message(now))

    async def _claim(self, turn: StoredTurn, by: str) -> StoredTurn:
        """Assign the turn to its client message id, unless an earlier turn has this id.

        Returns the turn that has the id. `by` identifies this attempt, because the write may be
        retried after a lost response.
        """
        row = items.client_row(turn.session_id, turn.client_message_id or "")
        values = {
            "number": value_of(turn.question_id),
            "asked": value_of(turn.asked_at),
            "by": text(by),
            "expires": value_of(self._turns_expire(turn.asked_at)),
        }

        def work() -> Item:
            done, first = self._table.put(row, values, replace=False)
            return first if done or first else self._table.read(row)

        first = await self._table.run(work)
        if not first or items.text_in(first, "by") == by:
            return turn
        asked = items.time_in(first, "asked")
        number = items.whole_in(first, "number")
        return turn._replace(question_id=number, asked_at=asked, lease=asked + LEASE)

    async def _again(
        self, asked: NewMessage, first: StoredTurn, number: int, old: Item, by: str, now: float
    ) -> BeginResult:
        """Begin a message that already has the turn `first`, and release the new `number`.

        Returns the stored answer, a busy result, or the retried turn.
        """
        row = items.turn_row(first.session_id, first.question_id)
        stored = await self._read(row)
        # No item: the first attempt has not written the turn yet, or it failed before the write.
        turn = items.turn_in(stored) if stored else first
        if again := turn.met_again(asked, now):
            await self._undo_use(turn, number, old, now)
            if turn.is_ahead(now):
                await self._cut(turn, now, is_stored=bool(stored))
            return again
        if stored:
            reopen = items.turn_change(
                {**turn.retried(asked, now), "by": by},
                _MAY_RETRY,
                "#again :one",
                pending="pending",
                known=turn.status,
                now=now,
                one=1,
            )
            begun, stored = await self._update(row, reopen)
        else:
            begun = await self._put_turn(first._replace(lease=now + LEASE), replace=False)
        turn = turn.begun_again(asked, now)
        if begun:
            await self._release_number(first.session_id, number, old)
            tries = items.whole_in(stored, "again")
            return BeginResult(turn.message(now), retries=tries, replaces=bool(turn.answer))
        await self._undo_use(turn, number, old, now)
        return BeginResult(turn.message(now), busy_for=LEASE)  # a concurrent attempt has begun it

    async def _cut(self, turn: StoredTurn, now: float, *, is_stored: bool) -> None:
        """Cut a lease from a clock ahead, unless the turn has changed since it was read."""
        if not is_stored:
            await self._put_turn(turn._replace(lease=now + LEASE), replace=False)
            return
        cut = change(
            "SET #lease = :lease",
            "#status = :pending AND #lease = :known",
            lease=now + LEASE,
            pending="pending",
            known=turn.lease,
        )
        await self._update(items.turn_row(turn.session_id, turn.question_id), cut)

    async def finish(
        self,
        session_id: SessionId,
        message_id: int,
        ended: TurnOutcome,
        now: float,
        retries: int = 0,
    ) -> StoredMessage | None:
        condition, values = runs_for(retries)
        if ended.text:
            end = items.turn_change(answered(ended, now), condition, **values)
        else:
            sets = "SET #status = :status, #answered = if_not_exists(#answered, :now)"
            if ended.steps:
                sets, values = f"{sets}, #steps = :steps", {**values, "steps": ended.steps}
            end = change(sets, condition, status=ended.status, now=now, **values)
        row = items.turn_row(session_id, message_id)
        former = await self._read(row) if retries else {}
        done, stored = await self._update(row, end)
        if not done:
            session = await self._session(session_id, now)
            stored = (stored or await self._read(row)) if session else {}
        elif not await self._count(former, items.turn_in(stored), ended, now):
            await self._table.run(lambda: self._remove(stored))
            return None
        elif items.text_in(former, "comment"):  # the answer that had it was replaced
            await self._note_comment(session_id)
        return items.turn_in(stored).answer_message(now) if stored else None

    async def messages(
        self, session_id: SessionId, *, before: int | None = None, limit: int = 20, now: float
    ) -> Sequence[StoredMessage]:
        def work() -> Sequence[StoredMessage]:
            pk, last = items.session_pk(session_id), items.SESSION
            session: Item = {}
            if before is not None:
                session = self._table.read(Row(pk, last))
                last = items.turn_sk(before)
            bounds = (items.FIRST_TURN, last)
            # The page size: two messages per turn, and the session's item, which comes first.
            stored = self._table.query(pk, bounds, newest=limit // 2 + 2)
            if before is None:
                session = next(stored, {})
            if not self._is_kept(session, now):
                return []
            return newest_messages(map(items.turn_in, stored), before, limit, now)

        return await self._table.run(work)

    async def rate(
        self,
        session_id: SessionId,
        client_message_id: str,
        rating: Rating | None,
        comment: str = "",
    ) -> bool:
        pointer, session = await asyncio.gather(
            self._read(items.client_row(session_id, client_message_id)),
            self._session(session_id, self._clock()),
        )
        if not pointer or not session:
            return False
        rated_so = {"rating": rating, "comment": comment if rating else ""}
        rate = items.turn_change(rated_so, "attribute_exists(#answer)")
        row = items.turn_row(session_id, items.whole_in(pointer, "number"))
        done, before = await self._update(row, rate, "ALL_OLD")
        if done and (by := rated(items.turn_in(before).rating, rating)):
            await self._count_rating(items.turn_in(before), by)
        if done and (rating == "down" or items.text_in(before, "comment")):
            await self._note_comment(session_id)
        return done

    async def _note_comment(self, session_id: SessionId) -> None:
        """Copy the newest comment to the session's item, so that the list reads no turns for it."""

        def work() -> None:
            found = self._table.query(items.session_pk(session_id), items.TURNS)
            comment = newest_comment([items.turn_in(one) for one in found])
            note = change("SET #comment = :comment", "attribute_exists(pk)", comment=comment)
            self._table.update(items.session_row(session_id), note)

        await self._table.run(work)

    async def _count_rating(self, turn: StoredTurn, by: dict[str, int]) -> None:
        sums = ", ".join(f"#{name} :{name}" for name in by)
        add = change(f"ADD {sums}", "attribute_exists(pk)", **by)
        day = DayChange(date_of(turn.answered_at), by)
        counted, session = await self._update(items.session_row(turn.session_id), add)
        queues = {name for name in by if counted}
        await self._requeue(session, queues & queues_of(session), queues)
        await self._table.run(lambda: count(self._table, day))

    async def save_trim_state(self, session_id: SessionId, state: str) -> None:
        now, row = self._clock(), items.trim_state_row(session_id)
        values = {"state": text(state), "expires": value_of(self._turns_expire(now))}
        await self._table.run(lambda: self._table.put(row, values))
        if not await self._session(session_id, now):  # the session was deleted in the meantime
            await self._table.run(lambda: items.delete_rows(self._table, [row]))

    async def delete(self, session_id: SessionId) -> None:
        """Delete a session in two steps, so that a deletion that failed can be repeated.

        The session's item is marked first: then no turn begins, and a running turn deletes itself.
        The item is deleted last, because it has the key of the session's entry in the list.
        """
        row = items.session_row(session_id)

        def work() -> None:
            mark = change(
                "SET #updated = :never REMOVE #title, #line, #comment, #request",
                "attribute_exists(pk)",
                never=0,
            )
            _, marked = self._table.update(row, mark)
            if active := items.text_in(marked, "active"):
                queued = rows_of(session_id, queues_of(marked), active)
                listed = [items.active_row(active, session_id), *queued]
                items.delete_rows(self._table, listed)
            items.delete_partition(self._table, items.calls_pk(session_id))
            for number in range(MAX_IMAGES):
                items.delete_partition(self._table, items.images_pk(session_id, number))
            items.delete_partition(self._table, row.pk, keep=row)
            items.delete_rows(self._table, [row])

        await self._table.run(work)
