"""Stores sessions in memory, for tests and for trying Kefu out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from sys import getsizeof

from kefu.sessions.model import (
    LEASE,
    BeginResult,
    CallRecord,
    NewMessage,
    Rating,
    Retention,
    Session,
    SessionId,
    Status,
    StoredMessage,
    TurnOutcome,
)
from kefu.sessions.overview import AskedQuestions, Overview, Page, UserSessions, Wanted
from kefu.sessions.people import Attendance, Line
from kefu.stores.asked import asked_most
from kefu.stores.folded_calls import Known
from kefu.stores.memory.contacts import MemoryContacts
from kefu.stores.packed_calls import CallPlace, pack, unpack
from kefu.stores.search import page_of_matches, searched_words
from kefu.stores.turns import (
    DayChange,
    StoredTurn,
    cursor_after,
    date_of,
    ended_turn,
    is_error,
    may_change,
    newest_comment,
    newest_messages,
    position,
    rated,
    seen,
    wants,
)

MOST = 10_000
"""The largest number of sessions. The least recently used ones are deleted to bound the memory."""

CHAT, TURN, CALL = 2000, 1000, 300
"""Bytes that a chat, a turn and a call take besides their texts, roughly."""


@dataclass(slots=True, eq=False, repr=False)
class _Chat:
    session: Session
    turns: dict[int, StoredTurn] = field(default_factory=dict)
    by_client_id: dict[str, int] = field(default_factory=dict)
    calls: dict[tuple[int, int], tuple[float, bytes]] = field(default_factory=dict)
    """Maps `(message id, call number)` to `(time of the call, packed record)`."""
    tokens: int = 0
    errors: int = 0
    status: Status = "pending"
    lease: float = 0.0
    size: int = CHAT
    """Bytes in memory, roughly; calls that have expired count until the chat ends."""

    def overview(self, now: float) -> Overview:
        status = seen(self.status, self.lease, now)
        session = self.session._replace(trim_state="")
        turns = list(self.turns.values())
        return Overview(
            session,
            len(turns),
            self.tokens,
            self.errors,
            status,
            sum(turn.unanswered for turn in turns),
            sum(turn.rating == "up" for turn in turns),
            sum(turn.rating == "down" for turn in turns),
            newest_comment(turns),
        )

    def new_turn(self, asked: NewMessage, now: float) -> StoredTurn:
        number = 2 * len(self.turns) + 1
        turn = StoredTurn.begun(self.session.id, number, asked, now)
        if asked.client_message_id is not None:
            self.by_client_id[asked.client_message_id] = number
        return turn


class MemorySessions(MemoryContacts):
    """Stores sessions in dicts. Methods are atomic: none awaits between a read and a write."""

    def __init__(self, clock: Callable[[], float], retention: Retention, most: int = MOST) -> None:
        super().__init__(clock, retention)
        self._most = most
        self._secret = ""
        self._chats: dict[SessionId, _Chat] = {}
        """Ordered by last use, the least recently used session first."""
        self._size = 0
        """Bytes of all chats."""

    async def secret(self, candidate: str) -> str:
        self._secret = self._secret or candidate
        return self._secret

    async def session(self, session_id: SessionId) -> Session | None:
        chat = self._chat(session_id, self._clock())
        return chat.session if chat else None

    async def begin(self, session: Session, asked: NewMessage, now: float) -> BeginResult:
        chat = self._chat(session.id, now)
        if chat is None:
            if session.created_at != now:
                raise KeyError(session.id)
            self._drop(session.id)
            chat = _Chat(session._replace(trim_state=""))
        number = chat.by_client_id.get(asked.client_message_id or "")
        self._use(chat, now)
        if number is None:
            turn = chat.new_turn(asked, now)
        else:
            turn = chat.turns[number]
            if again := turn.met_again(asked, now):
                if turn.is_ahead(now):
                    self._put(chat, turn._replace(lease=now + LEASE))
                    chat.lease = min(chat.lease, now + LEASE)
                return again
            turn = turn.begun_again(asked, now)
        self._put(chat, turn)
        chat.status, chat.lease = turn.status, turn.lease
        return BeginResult(turn.message(now), again=turn.again, replaces=bool(turn.answer))

    def _use(self, chat: _Chat, now: float) -> None:
        chat.session = chat.session._replace(updated_at=now)
        if self._chats.pop(chat.session.id, None) is None:
            self._size += chat.size
        self._chats[chat.session.id] = chat
        self._forget(now)

    def _put(self, chat: _Chat, turn: StoredTurn) -> None:
        before = chat.turns.get(turn.question_id)
        self._grow(chat, _size(turn) - (_size(before) if before else 0))
        chat.turns[turn.question_id] = turn

    def _grow(self, chat: _Chat, by: int) -> None:
        chat.size += by
        self._size += by

    def _drop(self, session_id: SessionId) -> None:
        if chat := self._chats.pop(session_id, None):
            self._size -= chat.size

    async def renew(self, session_id: SessionId, message_id: int, again: int, now: float) -> bool:
        chat = self._chat(session_id, now)
        turn = chat.turns.get(message_id) if chat else None
        if chat is None or turn is None or not turn.runs_for(again):
            return False
        chat.turns[message_id] = turn._replace(lease=now + LEASE)
        chat.lease = max(chat.lease, now + LEASE)
        return True

    async def finish(
        self, session_id: SessionId, message_id: int, ended: TurnOutcome, now: float, again: int = 0
    ) -> StoredMessage | None:
        chat = self._chat(session_id, now)
        turn = chat.turns.get(message_id) if chat else None
        if chat is None or turn is None:
            return None
        if turn.runs_for(again):
            self._count(ended_turn(turn, ended, now))
            turn = turn.ended(ended, now)
            self._put(chat, turn)
            chat.status = turn.status
            chat.errors += is_error(ended)
            chat.tokens += ended.prompt_tokens + ended.completion_tokens
        return turn.answer_message(now)

    async def messages(
        self, session_id: SessionId, *, before: int | None = None, limit: int = 20, now: float
    ) -> Sequence[StoredMessage]:
        chat = self._chat(session_id, now)
        turns = reversed(chat.turns.values()) if chat else ()
        return newest_messages(turns, before, limit, now)

    async def rate(
        self,
        session_id: SessionId,
        client_message_id: str,
        rating: Rating | None,
        comment: str = "",
    ) -> bool:
        chat = self._chat(session_id, self._clock())
        number = chat.by_client_id.get(client_message_id) if chat else None
        if chat is None or number is None or not chat.turns[number].answer:
            return False
        turn = chat.turns[number]
        self._put(chat, turn._replace(rating=rating, comment=comment))
        self._count(DayChange(date_of(turn.answered_at), rated(turn.rating, rating)))
        return True

    async def save_trim_state(self, session_id: SessionId, state: str) -> None:
        if chat := self._chat(session_id, self._clock()):
            self._grow(chat, getsizeof(state) - getsizeof(chat.session.trim_state))
            chat.session = chat.session._replace(trim_state=state)

    async def attend(
        self, session_id: str, change: Attendance, taken_from: str = ""
    ) -> Attendance | None:
        chat = self._chat(SessionId(session_id), self._clock())
        if chat is None:
            return None
        if may_change(chat.session.attendance, change, taken_from):
            chat.session = chat.session._replace(attendance=change)
        return chat.session.attendance

    async def add_line(self, session_id: str, line: Line, now: float) -> int | None:
        chat = self._chat(SessionId(session_id), now)
        if chat is None:
            return None
        number = chat.by_client_id.get(line.client_message_id)
        if number is None:
            state, operator, _ = chat.session.attendance
            if (state, operator) != ("person", line.operator):
                return None
            number = 2 * len(chat.turns) + 1
            self._put(chat, StoredTurn.line(chat.session.id, number, line, now))
            chat.by_client_id[line.client_message_id] = number
        return number + 1

    async def delete(self, session_id: SessionId) -> None:
        self._drop(session_id)

    async def record(self, call: CallRecord) -> None:
        if chat := self._chat(call.session_id, self._clock()):
            packed = pack(call)
            self._grow(chat, CALL + len(packed))
            chat.calls[call.message_id, call.number] = (call.created_at, packed)

    async def calls(self, session_id: SessionId) -> Sequence[CallRecord]:
        now = self._clock()
        chat = self._chat(session_id, now)
        if chat is None:
            return []
        oldest = now - self._retention.raw
        chat.calls = {place: one for place, one in sorted(chat.calls.items()) if one[0] > oldest}
        calls: list[CallRecord] = []
        for (message, number), (created, packed) in tuple(chat.calls.items()):
            place = CallPlace(session_id, message, number, created)
            calls.append(unpack(place, packed, lambda: Known({}, {})))
            await asyncio.sleep(0)  # all calls of a long chat take longer than others should wait
        return calls

    async def newest(self, wanted: Wanted, cursor: str | None, limit: int, now: float) -> Page:
        self._forget(now)
        rows = [chat.overview(now) for chat in self._chats.values()]
        rows = [row for row in rows if wants(wanted, row)]
        rows.sort(key=_place, reverse=True)
        if cursor is not None:
            last = position(cursor)
            rows = [row for row in rows if _place(row) < last]
        if wanted.text:
            searched = searched_words(wanted.text)
            return page_of_matches(rows if searched else [], self._turns, searched, limit)
        page = rows[:limit]
        return Page(page, cursor_after(page[-1]) if len(rows) > limit else None)

    async def of_user(self, user: str, cursor: str | None) -> UserSessions:
        ids = [name for name, chat in self._chats.items() if chat.session.user == user]
        return UserSessions(ids, None, len(self._chats))

    async def questions(
        self, since: float, until: float, limit: int, now: float, *, gaps: bool = False
    ) -> AskedQuestions:
        self._forget(now)
        turns = [turn for chat in self._chats.values() for turn in chat.turns.values()]
        asked = [turn for turn in turns if turn.is_asked(since, until, gaps=gaps)]
        # In a thread: the stems of many questions take longer than chats should wait.
        return await asyncio.to_thread(asked_most, asked, limit, is_whole=True)

    async def used(self) -> int:
        self._forget(self._clock())
        return self._size

    async def aclose(self) -> None:
        """Do nothing: there are no resources to release."""

    def _turns(self, session_id: SessionId) -> Sequence[StoredTurn]:
        return list(self._chats[session_id].turns.values())

    def _chat(self, session_id: SessionId, now: float) -> _Chat | None:
        chat = self._chats.get(session_id)
        return chat if chat and self._is_kept(chat, now) else None

    def _is_kept(self, chat: _Chat, now: float) -> bool:
        return chat.session.updated_at + self._retention.session > now

    def _forget(self, now: float) -> None:
        """Delete expired sessions, and the least recently used ones over the limit."""
        while self._chats:
            oldest = next(iter(self._chats.values()))
            if self._is_kept(oldest, now) and len(self._chats) <= self._most:
                return
            self._drop(oldest.session.id)


def _place(row: Overview) -> tuple[float, str]:
    return row.session.updated_at, row.session.id


def _size(turn: StoredTurn) -> int:
    return TURN + getsizeof(turn.question) + getsizeof(turn.answer) + getsizeof(turn.comment)
