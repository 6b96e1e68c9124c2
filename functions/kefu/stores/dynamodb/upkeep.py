"""Keeps the items of a session consistent: counters, the list of sessions, leases and expiry.

Also stores the sums of each day.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal

from kefu.errors import StoreUnavailable
from kefu.images import MAX_IMAGES
from kefu.sessions.store.model import LEASE, Retention, Session, SessionId, TurnOutcome
from kefu.sessions.store.overview import LINE_LENGTH, Day, ToolDay
from kefu.stores.dynamodb import items
from kefu.stores.dynamodb.queues import entries, of_user, queues_of, rows_of
from kefu.stores.dynamodb.table import Change, Row, Table, change, value_of
from kefu.stores.turns import DayChange, StoredTurn, ended_turn, is_error

if TYPE_CHECKING:
    from kefu.stores.dynamodb.table import Item

TOGETHER_SECONDS: Final = 2.0
"""Two turns that begin within these seconds are assumed to be the same message, sent twice."""

DAY_NAMES: Final = {"prompt_tokens": "prompt", "completion_tokens": "completion"}
"""Attributes whose names differ from those of `Day`."""

_LINE: Final = "#line = :line, #line_by = :line_by"


def _line_in(session: Item) -> dict[str, float | str]:
    """The newest line of a session, as the values of the expression `_LINE`."""
    return {name: items.text_in(session, name) for name in ("line", "line_by")}


def runs_for(retries: int) -> tuple[str, dict[str, float | str]]:
    """The condition that a turn is `pending` and attempt `retries` the latest one; its values."""
    if not retries:
        return "#status = :pending AND attribute_not_exists(#again)", {"pending": "pending"}
    return "#status = :pending AND #again = :again", {"pending": "pending", "again": retries}


def count(table: Table, by: DayChange) -> None:
    """Add to the sums of a day."""
    names = {name: DAY_NAMES.get(name, name) for name in by.by}
    if names:
        sums = ", ".join(f"#{attribute} :{attribute}" for attribute in names.values())
        values = {attribute: by.by[name] for name, attribute in names.items()}
        add = change(f"ADD {sums}", None, **values)
        table.update(Row(items.DAYS, by.date), add)


def days_between(table: Table, since: str, until: str) -> Sequence[Day]:
    if since > until:
        return []
    return [
        Day(
            items.text_in(item, "sk"),
            *(items.whole_in(item, DAY_NAMES.get(name, name)) for name in Day._fields[1:]),
        )
        for item in table.query(items.DAYS, (since, until))
    ]


def count_calls(table: Table, called: Sequence[ToolDay]) -> None:
    """Add the calls of a turn to the sums of their tools, which are one item a day.

    An attribute has the name of its field and the tool, such as `uses order_status`.
    """
    by = {
        f"{field} {one.tool}": number
        for one in called
        for field, number in zip(ToolDay._fields[2:], one[2:], strict=True)
        if number
    }
    names = {f"#n{place}": name for place, name in enumerate(by)}
    values = {f":v{place}": value_of(number) for place, number in enumerate(by.values())}
    sums = ", ".join(f"{name} {value}" for name, value in zip(names, values, strict=True))
    row = Row(items.TOOL_DAYS, called[0].date)
    table.update(row, Change(f"ADD {sums}", None, names, values))


def tool_days_between(table: Table, since: str, until: str) -> Sequence[ToolDay]:
    found = table.query(items.TOOL_DAYS, (since, until)) if since <= until else ()
    return [day for item in found for day in _tool_days(item)]


def _tool_days(item: Item) -> Iterator[ToolDay]:
    for tool in sorted({name.partition(" ")[2] for name in item} - {""}):
        numbers = (items.whole_in(item, f"{field} {tool}") for field in ToolDay._fields[2:])
        yield ToolDay(items.text_in(item, "sk"), tool, *numbers)


def _calls(steps: str, now: float) -> tuple[Sequence[ToolDay], dict[str, int]]:
    """The calls of a turn by tool, and what they add to the numbers of its chat, without zeros."""
    if not steps:
        return [], {}
    from kefu.stores.tool_counts import calls_of, in_chat  # here, because few chats have calls

    called = calls_of(steps, now)
    return called, {name: by for name, by in in_chat(called).items() if by}


class DynamoUpkeep:
    """Reads and updates that `DynamoTurns` and `DynamoSessions` share."""

    def __init__(self, table: Table, clock: Callable[[], float], retention: Retention) -> None:
        self._table = table
        self._clock = clock
        self._retention = retention

    async def _session(self, session_id: SessionId, now: float) -> Item:
        """Return the session's item; empty if it does not exist or has expired."""
        item = await self._read(items.session_row(session_id))
        return item if self._is_kept(item, now) else {}

    def _is_kept(self, session: Item, now: float) -> bool:
        """Whether a session has not expired. TTL deletes expired items only hours later."""
        return items.time_in(session, "updated") + self._retention.session > now

    async def _read(self, row: Row) -> Item:
        return await self._table.run(lambda: self._table.read(row))

    async def _update(
        self, row: Row, change: Change, returns: Literal["ALL_NEW", "ALL_OLD"] = "ALL_NEW"
    ) -> tuple[bool, Item]:
        return await self._table.run(lambda: self._table.update(row, change, returns=returns))

    async def _count(self, former: Item, turn: StoredTurn, ended: TurnOutcome, now: float) -> bool:
        """Add an ended turn to the totals of its session and its day. `former`: the earlier item.

        Returns False if the session was deleted or has expired.
        """
        session_id = turn.session_id
        before = turn._replace(unanswered=False, answered_at=0.0, answer="")
        if former:
            before = items.turn_in(former)
        more = turn.unanswered - before.unanswered
        called, made = _calls(ended.steps, now)
        session = change(
            "SET #status = :status ADD #errors :error, #tokens :tokens"
            + ", #unanswered :more" * bool(more)
            + "".join(f", #{name} :{name}" for name in made),
            "#updated > :oldest",
            status=ended.status,
            error=int(is_error(ended)),
            **({"more": more} if more else {}),
            **made,
            tokens=ended.prompt_tokens + ended.completion_tokens,
            oldest=now - self._retention.session,
        )
        day = ended_turn(before, ended, now)
        exists, item = await self._update(items.session_row(session_id), session)
        if exists:
            counted = {"errors": int(is_error(ended)), "unanswered": more, **made}
            # A chat whose number was above 0 is in the queue, and `_list` moves it.
            new = {name for name, by in counted.items() if 0 < by == items.whole_in(item, name)}
            await self._requeue(item, new, {"unanswered"} if more < 0 else ())
            await self._table.run(lambda: count(self._table, day))
            if called:
                await self._table.run(lambda: count_calls(self._table, called))
            if turn.question != before.question:
                await self._change_line(before.question, turn)
        if exists and items.time_in(item, "renew") < items.time_in(item, "expires"):
            await self._table.run(lambda: self._renew(session_id, now))
        return exists

    async def _change_line(self, former: str, turn: StoredTurn) -> None:
        """Show a changed question as the newest line of its session, if the former text was."""
        edit = change(
            "SET #line = :line",
            "#line = :former",
            line=turn.question[:LINE_LENGTH],
            former=former[:LINE_LENGTH],
        )
        await self._update(items.session_row(turn.session_id), edit)

    async def _requeue(
        self, session: Item, queues: Collection[str], former: Collection[str] = ()
    ) -> None:
        """Add a session to queues, and remove it from earlier queues, unless it belongs there."""
        left = set(former) - queues_of(session)

        def work() -> None:
            items.put_rows(self._table, entries(session, queues))
            items.delete_rows(self._table, [row for row, _ in entries(session, left)])

        if queues or left:
            await self._table.run(work)

    async def _put_turn(self, turn: StoredTurn, *, replace: bool = True) -> bool:
        expires = value_of(self._turns_expire(turn.asked_at))
        values = {**items.turn_values(turn), "expires": expires}
        row = items.turn_row(turn.session_id, turn.question_id)
        done, _ = await self._table.run(lambda: self._table.put(row, values, replace=replace))
        return done

    async def renew(
        self,
        session_id: SessionId,
        message_id: int,
        retries: int,
        now: float,
        steps: str | None = None,
    ) -> bool:
        lease = now + LEASE
        condition, values = runs_for(retries)
        fields: dict[str, float | str | None] = {"lease": lease}
        if steps is not None:
            fields["steps"] = steps
        extend = items.turn_change(fields, condition, **values)
        renewed, _ = await self._update(items.turn_row(session_id, message_id), extend)
        # The list of sessions derives its status from the session's lease, which the regular
        # renewals extend in time: saving calls costs no second write.
        if renewed and steps is None:
            condition = "#status = :pending AND #lease < :lease"
            listed = change("SET #lease = :lease", condition, lease=lease, pending="pending")
            await self._update(items.session_row(session_id), listed)
        return renewed

    def _turns_expire(self, now: float) -> int:
        """Return the Unix time at which turns expire: 1.5 times the session's retention from now.

        The margin avoids an update of all turns whenever a new message extends the session.
        """
        return int(now + 1.5 * self._retention.session)

    def _renew(self, session_id: SessionId, now: float) -> None:
        """Extend the expiry of all turns and images of a session that is still in use."""
        pk, expires = items.session_pk(session_id), self._turns_expire(now)
        extend = change("SET #expires = :expires", "attribute_exists(pk)", expires=expires)
        for one in (pk, *(items.images_pk(session_id, n) for n in range(MAX_IMAGES))):
            for item in self._table.query(one, (" ", items.LAST_TURN), keys_only=True):
                self._table.update(items.row_of(item), extend)
        self._table.update(items.trim_state_row(session_id), extend)
        renewed = change("SET #renew = :expires", "attribute_exists(pk)", expires=expires)
        self._table.update(items.session_row(session_id), renewed)

    async def _list(self, session: Session, old: Item, now: float) -> None:
        """Move a session to the current ten minutes of the list and of its queues.

        `old`: the session's item before. Errors do not fail the chat.
        """
        before, after = items.text_in(old, "active"), items.active_at(now)
        if before == after:
            return
        queues = queues_of(old) | of_user(session.user)
        values = {"expires": value_of(int(now + self._retention.session) + 1)}

        def rows(active: str) -> list[Row]:
            listed = items.active_row(active, session.id)
            return [listed, *rows_of(session.id, queues, active)]

        def work() -> None:
            items.put_rows(self._table, [(row, values) for row in rows(after)])
            if before:
                items.delete_rows(self._table, rows(before))

        with contextlib.suppress(StoreUnavailable):
            await self._table.run(work)

    async def _undo_use(self, first: StoredTurn, number: int, old: Item, now: float) -> None:
        """Undo `_use` for a message that is already stored as turn `first`.

        Restores the session's item `old`, unless another turn has begun since.
        """
        status = items.text_in(old, "status")
        if items.time_in(old, "lease") > now + LEASE - TOGETHER_SECONDS:
            status = first.status
        restore = change(
            f"SET #seq = :old, #status = :status, #lease = :lease, {_LINE} ADD #turns :less",
            "#seq = :seq",
            **_line_in(old),
            old=number - 1,
            status=status,
            lease=min(items.time_in(old, "lease"), now + LEASE),
            less=-1,
            seq=number + 1,
        )
        await self._restore(first.session_id, restore)

    async def _release_number(
        self, session_id: SessionId, number: int, old: Item | None = None
    ) -> None:
        """Release a reserved number, because a turn that is sent again keeps its first number.

        `old`: the session's item, whose newest line is restored; None: the line stays.
        """
        restore = change(
            f"SET #seq = :old{f', {_LINE}' if old else ''} ADD #turns :less",
            "#seq = :seq",
            **(_line_in(old) if old else {}),
            old=number - 1,
            less=-1,
            seq=number + 1,
        )
        await self._restore(session_id, restore)

    async def _restore(self, session_id: SessionId, restore: Change) -> None:
        """Apply `restore`. If later numbers are in use, only correct the count and leave a gap."""
        row = items.session_row(session_id)
        if not (await self._update(row, restore))[0]:
            less = change("ADD #turns :less", "attribute_exists(pk)", less=-1)
            await self._update(row, less)

    def _remove(self, turn: Item) -> None:
        """Delete the items of a turn whose session was deleted while the turn was running."""
        stored = items.turn_in(turn)
        rows = [items.turn_row(stored.session_id, stored.question_id)]
        if stored.client_message_id is not None:
            rows.append(items.client_row(stored.session_id, stored.client_message_id))
        items.delete_rows(self._table, rows)
