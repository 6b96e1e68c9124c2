"""What keeps the items of a chat in step: reading, listing, giving numbers back, living longer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal

from kefu.errors import StoreUnavailable
from kefu.sessions import LEASE, Ended, Retention, SessionId
from kefu.stores import dynamodb_items as items
from kefu.stores.dynamodb_table import Change, Row, Table, change, text, value_of
from kefu.stores.turns import Turn, date_of, is_error

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from kefu.stores.dynamodb_table import Item, Values

TOGETHER: Final = 2.0
"""Seconds within which another turn is probably the same message, sent at the same time."""


def runs_for(again: int) -> str:
    """The condition that a turn has not ended, and is this beginning's."""
    mine = "#again = :again" if again else "attribute_not_exists(#again)"
    return f"#status = :pending AND {mine}"


def whose(again: int) -> dict[str, int]:
    """What `runs_for` wants besides `pending`."""
    return {"again": again} if again else {}


class DynamoUpkeep:
    def __init__(self, table: Table, clock: Callable[[], float], retention: Retention) -> None:
        self._table = table
        self._clock = clock
        self._retention = retention

    async def _session(self, session_id: SessionId, now: float) -> Item:
        """Empty when there is none, or none any more."""
        item = await self._read(items.session_row(session_id))
        return item if self._is_kept(item, now) else {}

    def _is_kept(self, session: Item, now: float) -> bool:
        """DynamoDB itself deletes what has expired, but hours later."""
        return items.time_in(session, "updated") + self._retention.session > now

    async def _read(self, row: Row) -> Item:
        return await self._table.run(lambda client: self._table.read(client, row, consistent=True))

    async def _update(
        self, row: Row, change: Change, returns: Literal["ALL_NEW", "ALL_OLD"] = "ALL_NEW"
    ) -> tuple[bool, Item]:
        return await self._table.run(
            lambda client: self._table.update(client, row, change, returns=returns)
        )

    async def _count(self, session_id: SessionId, ended: Ended, now: float) -> bool:
        """Add a turn's end to its session and its day; False when the session is gone."""
        error = int(is_error(ended))
        session = change(
            "SET #status = :status ADD #errors :error, #tokens :tokens",
            "#updated > :oldest",
            status=ended.status,
            error=error,
            tokens=ended.prompt_tokens + ended.completion_tokens,
            oldest=now - self._retention.session,
        )
        day = change(
            "ADD #turns :one, #errors :error, #prompt :prompt, #completion :completion",
            one=1,
            error=error,
            prompt=ended.prompt_tokens,
            completion=ended.completion_tokens,
        )
        there, item = await self._update(items.session_row(session_id), session)
        if there:
            await self._update(Row(items.DAYS, date_of(now)), day)
        if there and items.time_in(item, "renew") < items.time_in(item, "expires"):
            await self._table.run(lambda client: self._renew(client, session_id, now))
        return there

    async def _put_turn(self, turn: Turn, *, replace: bool = True) -> bool:
        values: Values = {
            "question": text(turn.question),
            "status": text(turn.status),
            "lease": value_of(turn.lease),
            "asked": value_of(turn.asked_at),
            "expires": value_of(self._turns_expire(turn.asked_at)),
        }
        if turn.client_message_id is not None:
            values["client"] = text(turn.client_message_id)
        row = items.turn_row(turn.session_id, turn.question_id)
        done, _ = await self._table.run(
            lambda client: self._table.put(client, row, values, replace=replace)
        )
        return done

    async def renew(self, session_id: SessionId, message_id: int, again: int, now: float) -> bool:
        lease = now + LEASE
        longer = change(
            "SET #lease = :lease",
            f"{runs_for(again)} AND #lease > :over",
            lease=lease,
            pending="pending",
            over=now - LEASE,
            **whose(again),
        )
        mine, _ = await self._update(items.turn_row(session_id, message_id), longer)
        if mine:  # so that the list of sessions says the same
            still = "#status = :pending AND #lease < :lease"
            listed = change("SET #lease = :lease", still, lease=lease, pending="pending")
            await self._update(items.session_row(session_id), listed)
        return mine

    def _turns_expire(self, now: float) -> int:
        """Half as late again as their session: so they need not be touched at every message."""
        return int(now + 1.5 * self._retention.session)

    def _renew(self, client: DynamoDBClient, session_id: SessionId, now: float) -> None:
        """Have the turns of a session that goes on live longer: every 15 days, for 30."""
        pk, expires = items.session_pk(session_id), self._turns_expire(now)
        longer = change("SET #expires = :expires", "attribute_exists(pk)", expires=expires)
        for item in self._table.query(client, pk, (" ", items.LAST_TURN), keys_only=True):
            self._table.update(client, items.row_of(item), longer)
        renewed = change("SET #renew = :expires", "attribute_exists(pk)", expires=expires)
        self._table.update(client, items.session_row(session_id), renewed)

    async def _list(self, session_id: SessionId, old: str, now: float) -> None:
        """Move a session to where operators look for it now; a chat does not fail for that."""
        new = items.active_at(now)
        if new == old:
            return
        values = {"expires": value_of(int(now + self._retention.session) + 1)}

        def work(client: DynamoDBClient) -> None:
            self._table.put(client, items.active_row(new, session_id), values)
            if old:
                items.delete_rows(self._table, client, [items.active_row(old, session_id)])

        with contextlib.suppress(StoreUnavailable):
            await self._table.run(work)

    async def _give_back(self, first: Turn, number: int, old: Item, now: float) -> None:
        """A turn that was none but turn `first`: its session as it was, unless it has gone on."""
        status = items.text_in(old, "status")
        if items.time_in(old, "lease") > now + LEASE - TOGETHER:
            status = first.status
        restore = change(
            "SET #seq = :old, #status = :status, #lease = :lease ADD #turns :less",
            "#seq = :seq",
            old=number - 1,
            status=status,
            lease=items.time_in(old, "lease"),
            less=-1,
            seq=number + 1,
        )
        await self._restore(first.session_id, restore)

    async def _give_number_back(self, session_id: SessionId, number: int) -> None:
        """Of a turn that is begun again, and has one; its session stays `pending`."""
        restore = change(
            "SET #seq = :old ADD #turns :less",
            "#seq = :seq",
            old=number - 1,
            less=-1,
            seq=number + 1,
        )
        await self._restore(session_id, restore)

    async def _restore(self, session_id: SessionId, restore: Change) -> None:
        """When numbers have been given out since, only the count is mended, and a gap stays."""
        row = items.session_row(session_id)
        if not (await self._update(row, restore))[0]:
            less = change("ADD #turns :less", "attribute_exists(pk)", less=-1)
            await self._update(row, less)

    def _remove(self, client: DynamoDBClient, turn: Item) -> None:
        """A turn whose session was deleted while it ran."""
        kept = items.turn_in(turn)
        rows = [items.turn_row(kept.session_id, kept.question_id)]
        if kept.client_message_id is not None:
            rows.append(items.client_row(kept.session_id, kept.client_message_id))
        items.delete_rows(self._table, client, rows)
