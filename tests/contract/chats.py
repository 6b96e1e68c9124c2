"""Sample chats for the contract tests of stores."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kefu.sessions.store.model import (
    CallRecord,
    NewMessage,
    Session,
    SessionId,
    StoredMessage,
    TurnOutcome,
)
from kefu.sessions.store.ports import Sessions, SessionStore

if TYPE_CHECKING:
    from tests.contract.engines import HandClock

ONE = SessionId("0123456789abcdef0123456789abcdef")
TWO = SessionId("fedcba9876543210fedcba9876543210")

DAY = 86400.0


def new(session_id: SessionId, now: float, title: str = "新对话") -> Session:
    return Session(session_id, title, "default", created_at=now, updated_at=now)


async def ask(
    store: SessionStore, clock: HandClock, text: str, client_id: str | None = None
) -> StoredMessage:
    """Begin a turn of the chat ONE, which is created if it does not exist."""
    session = await store.session(ONE) or new(ONE, clock.now)
    begun = await store.begin(session, NewMessage(text, client_id), clock.now)
    assert begun.answer is None
    assert not begun.busy_for
    return begun.message


async def turn(
    store: SessionStore,
    clock: HandClock,
    text: str,
    answer: str,
    client_id: str | None = None,
) -> tuple[StoredMessage, StoredMessage]:
    """A complete turn of the chat ONE: it begins after one second and ends two seconds later."""
    clock.now += 1
    asked = await ask(store, clock, text, client_id)
    clock.now += 2
    answered = await store.finish(ONE, asked.id, TurnOutcome("ok", answer, 20, 5), clock.now)
    assert answered
    return asked, answered


async def chat_at(
    store: Sessions, session_id: SessionId, now: float, ended: TurnOutcome | None
) -> None:
    """A chat with one turn, which is still running unless it has ended."""
    begun = await store.begin(new(session_id, now), NewMessage("在吗？"), now)
    if ended:
        await store.finish(session_id, begun.message.id, ended, now)


def body(messages: list[Mapping[str, str]], **more: object) -> bytes:
    """The body of a request, encoded as the service does it."""
    whole = {"model": "LongCat", "messages": messages, "stream": True, "max_tokens": 1024, **more}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode()


def response(text: str) -> str:
    message = {"role": "assistant", "content": text}
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "model": "LongCat",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25},
        }
    )


def call(
    message_id: int,
    now: float,
    number: int = 1,
    request: bytes | None = b"{}",
    answer: str | None = None,
    error: str | None = None,
) -> CallRecord:
    return CallRecord(
        session_id=ONE,
        message_id=message_id,
        number=number,
        attempt=2,
        created_at=now,
        request=request,
        response=answer,
        meta='{"key":"0123456789ab","trimmed":[]}',
        finish_reason="stop" if answer else None,
        stream_complete=bool(answer),
        ttft=0.25 if answer else None,
        duration=1.125,
        error=error,
        prompt_tokens=20 if answer else None,
        completion_tokens=5 if answer else None,
    )
