"""Stores who answers a chat, and the lines of operators, in a DynamoDB table.

The state is part of the session's item. A line is a turn without a question.
"""

from __future__ import annotations

import uuid

from kefu.sessions.store.attendance import STATES_BEFORE, Attendance, OperatorMessage, holder_before
from kefu.sessions.store.model import SessionId
from kefu.sessions.store.overview import LINE_LENGTH
from kefu.stores.dynamodb import items
from kefu.stores.dynamodb.queues import of_state
from kefu.stores.dynamodb.table import change as changing
from kefu.stores.dynamodb.turns import DynamoTurns
from kefu.stores.turns import StoredTurn, may_change


class DynamoAttendance(DynamoTurns):
    """Every method raises StoreUnavailable if DynamoDB fails, throttles or is too slow."""

    async def set_attendance(
        self, session_id: str, change: Attendance, taken_from: str = ""
    ) -> Attendance | None:
        session = await self._session(SessionId(session_id), self._clock())
        if not session:
            return None
        known = items.attendance_in(session)
        if not may_change(known, change, taken_from):
            return known
        # First, because a chat that waits must be found also if this process is killed now.
        await self._requeue(session, of_state(change.state))
        # A chat that never changed its state has no attribute for the state.
        before = [state for state in STATES_BEFORE[change.state] if state != "person"]
        allowed = [f"#state = :from_{state}" for state in before]
        allowed.append("#state = :person AND #operator = :holder")
        if "bot" in before:
            allowed.append("attribute_not_exists(#state)")
        update = changing(
            "SET #state = :state, #operator = :operator, #since = :since"
            + " REMOVE #request" * (change.state != "waiting"),
            f"#updated > :oldest AND ({' OR '.join(allowed)})",
            state=change.state,
            operator=change.operator,
            since=change.since,
            oldest=self._clock() - self._retention.session,
            person="person",
            holder=holder_before(change, taken_from),
            **{f"from_{state}": state for state in before},
        )
        changed, now = await self._update(items.session_row(session_id), update)
        if changed:
            moved = items.text_in(now, "active") != items.text_in(session, "active")
            entered = of_state(change.state) if moved else ()
            await self._requeue(now, entered, of_state(known.state))
            return change
        session = await self._session(SessionId(session_id), self._clock())
        return items.attendance_in(session) if session else None

    async def add_line(self, session_id: str, line: OperatorMessage, now: float) -> int | None:
        name = SessionId(session_id)
        if not await self._session(name, now):
            return None
        known = await self._read(items.client_row(name, line.client_message_id))
        number = items.whole_in(known, "number") or await self._number(name, line, now)
        if number is None:
            return None
        turn = StoredTurn.line(name, number, line, now)
        if not known:
            first = await self._claim(turn, uuid.uuid4().hex)
            if first.question_id != number:
                await self._release_number(name, number)
                turn = turn._replace(question_id=first.question_id)
        # Another attempt may have stopped between its claim and this write.
        await self._put_turn(turn, replace=False)
        if not await self._session(name, now):  # the chat was deleted in the meantime
            item = await self._read(items.turn_row(name, turn.question_id))
            await self._table.run(lambda: self._remove(item) if item else None)
            return None
        return turn.question_id + 1

    async def _number(self, session_id: SessionId, line: OperatorMessage, now: float) -> int | None:
        """Reserve two message ids; None if the line's operator does not have the chat."""
        reserve = changing(
            "SET #line = :line, #line_by = :operator ADD #seq :two, #turns :one",
            "#updated > :oldest AND #state = :person AND #operator = :operator",
            two=2,
            one=1,
            person="person",
            operator=line.operator,
            line=(line.original or line.text)[:LINE_LENGTH],
            oldest=now - self._retention.session,
        )
        done, item = await self._update(items.session_row(session_id), reserve)
        return items.whole_in(item, "seq") - 1 if done else None
