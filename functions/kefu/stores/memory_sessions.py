"""Chats kept by one process: for a trial run and for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kefu.sessions import (
    LEASE,
    Asked,
    Begun,
    CallRecord,
    Day,
    Ended,
    Overview,
    Page,
    Rating,
    Retention,
    Session,
    SessionId,
    Status,
    StoredMessage,
    Wanted,
)
from kefu.stores.packed_calls import REFERRED, PackedCall, contents, pack, text_of
from kefu.stores.turns import (
    Turn,
    cursor_after,
    date_of,
    is_error,
    newest_messages,
    position,
    seen,
    wants,
)

MOST = 10_000
"""Sessions. What is quiet for the longest time goes first: memory ends, too."""


@dataclass(slots=True, eq=False, repr=False)
class _Chat:
    session: Session
    turns: dict[int, Turn] = field(default_factory=dict)
    by_client_id: dict[str, int] = field(default_factory=dict)
    calls: dict[tuple[int, int], tuple[float, bytes]] = field(default_factory=dict)
    """By message and number: when it was made, and the call itself, packed."""
    texts: dict[str, bytes] = field(default_factory=dict)
    tokens: int = 0
    errors: int = 0
    status: Status = "pending"
    lease: float = 0.0

    def overview(self, now: float) -> Overview:
        status = seen(self.status, self.lease, now)
        return Overview(self.session, len(self.turns), self.tokens, self.errors, status)

    def new_turn(self, asked: Asked, now: float) -> Turn:
        number = 2 * len(self.turns) + 1
        turn = Turn.begun(self.session.id, number, asked, now)
        if asked.client_message_id is not None:
            self.by_client_id[asked.client_message_id] = number
        return turn


class MemorySessions:
    """Keeps everything in dicts; atomic because no method awaits between reading and writing."""

    def __init__(self, clock: Callable[[], float], retention: Retention, most: int = MOST) -> None:
        self._clock = clock
        self._retention = retention
        self._most = most
        self._secret = ""
        self._chats: dict[SessionId, _Chat] = {}
        """The one that was quiet for the longest time first."""
        self._days: dict[str, Day] = {}

    async def secret(self, candidate: str) -> str:
        self._secret = self._secret or candidate
        return self._secret

    async def session(self, session_id: SessionId) -> Session | None:
        chat = self._chat(session_id, self._clock())
        return chat.session if chat else None

    async def begin(self, session: Session, asked: Asked, now: float) -> Begun:
        chat = self._chat(session.id, now)
        if chat is None:
            if session.created_at != now:
                raise KeyError(session.id)
            chat = _Chat(session)
        number = chat.by_client_id.get(asked.client_message_id or "")
        self._use(chat, now)
        if number is None:
            turn = chat.new_turn(asked, now)
        else:
            turn = chat.turns[number]
            if again := turn.met_again(now):
                return again
            turn = turn.begun_again(now)
        chat.turns[turn.question_id] = turn
        chat.status, chat.lease = turn.status, turn.lease
        return Begun(turn.message(now), again=turn.again)

    def _use(self, chat: _Chat, now: float) -> None:
        chat.session = chat.session._replace(updated_at=now)
        self._chats.pop(chat.session.id, None)
        self._chats[chat.session.id] = chat
        self._forget(now)

    async def renew(self, session_id: SessionId, message_id: int, again: int, now: float) -> bool:
        chat = self._chat(session_id, now)
        turn = chat.turns.get(message_id) if chat else None
        if chat is None or turn is None or not turn.runs_for(again) or turn.lease <= now - LEASE:
            return False
        chat.turns[message_id] = turn._replace(lease=now + LEASE)
        chat.lease = max(chat.lease, now + LEASE)
        return True

    async def finish(
        self, session_id: SessionId, message_id: int, ended: Ended, now: float, again: int = 0
    ) -> StoredMessage | None:
        chat = self._chat(session_id, now)
        turn = chat.turns.get(message_id) if chat else None
        if chat is None or turn is None:
            return None
        if turn.runs_for(again):
            turn = turn._replace(status=ended.status, answer=ended.text, answered_at=now)
            chat.turns[message_id] = turn
            chat.status = turn.status
            chat.errors += is_error(ended)
            chat.tokens += ended.prompt_tokens + ended.completion_tokens
            self._count(ended, date_of(now))
        return turn.answer_message(now)

    async def messages(
        self, session_id: SessionId, *, before: int | None = None, limit: int = 20, now: float
    ) -> Sequence[StoredMessage]:
        chat = self._chat(session_id, now)
        turns = reversed(chat.turns.values()) if chat else ()
        return newest_messages(turns, before, limit, now)

    async def rate(
        self, session_id: SessionId, client_message_id: str, rating: Rating | None
    ) -> bool:
        chat = self._chat(session_id, self._clock())
        number = chat.by_client_id.get(client_message_id) if chat else None
        if chat is None or number is None or not chat.turns[number].answer:
            return False
        chat.turns[number] = chat.turns[number]._replace(rating=rating)
        return True

    async def delete(self, session_id: SessionId) -> None:
        self._chats.pop(session_id, None)

    async def record(self, call: CallRecord, known: Sequence[StoredMessage] | None = None) -> None:
        now = self._clock()
        if chat := self._chat(call.session_id, now):
            if known is None:
                known = newest_messages(reversed(chat.turns.values()), None, REFERRED, now)
            packed = pack(call, known)
            chat.calls[call.message_id, call.number] = (call.created_at, packed.record)
            chat.texts |= packed.texts

    async def calls(self, session_id: SessionId) -> Sequence[CallRecord]:
        now = self._clock()
        chat = self._chat(session_id, now)
        if chat is None:
            return []
        oldest = now - self._retention.raw
        chat.calls = {place: one for place, one in sorted(chat.calls.items()) if one[0] > oldest}
        messages = contents([m for turn in chat.turns.values() for m in turn.messages(now)])
        texts = {name: text_of(text) for name, text in chat.texts.items()}
        calls = [PackedCall(record) for _, record in chat.calls.values()]
        return [call.call(session_id, messages, texts) for call in calls]

    async def newest(self, wanted: Wanted, cursor: str | None, limit: int, now: float) -> Page:
        self._forget(now)
        rows = [chat.overview(now) for chat in self._chats.values()]
        rows = [row for row in rows if wants(wanted, row)]
        rows.sort(key=_place, reverse=True)
        if cursor is not None:
            last = position(cursor)
            rows = [row for row in rows if _place(row) < last]
        page = rows[:limit]
        return Page(page, cursor_after(page[-1]) if len(rows) > limit else None)

    async def days(self, since: str, until: str) -> Sequence[Day]:
        return [self._days[date] for date in sorted(self._days) if since <= date <= until]

    async def aclose(self) -> None:
        """Nothing to give back."""

    def _chat(self, session_id: SessionId, now: float) -> _Chat | None:
        chat = self._chats.get(session_id)
        return chat if chat and self._is_kept(chat, now) else None

    def _is_kept(self, chat: _Chat, now: float) -> bool:
        return chat.session.updated_at + self._retention.session > now

    def _forget(self, now: float) -> None:
        """What is too old, and what is one too many."""
        while self._chats:
            oldest = next(iter(self._chats.values()))
            if self._is_kept(oldest, now) and len(self._chats) <= self._most:
                return
            del self._chats[oldest.session.id]

    def _count(self, ended: Ended, date: str) -> None:
        day = self._days.get(date, Day(date, 0, 0, 0, 0))
        self._days[date] = Day(
            date,
            day.turns + 1,
            day.errors + is_error(ended),
            day.prompt_tokens + ended.prompt_tokens,
            day.completion_tokens + ended.completion_tokens,
        )


def _place(row: Overview) -> tuple[float, str]:
    return row.session.updated_at, row.session.id
