"""Reads the stored messages that are sent to the model as history.

They are complete turns with the status `ok`, in the order of their questions.
"""

from __future__ import annotations

from collections.abc import Iterable

from kefu.sessions.hooks.hook import EndedTurn
from kefu.sessions.model import Session, SessionStore, StoredMessage

Pair = tuple[StoredMessage, StoredMessage]

PAGES = 3
"""Maximum number of reads for one history. Failed turns in a page can make another read necessary.
"""

RATED_PAGE = 100
"""Messages of one read for an answer that was rated."""


async def latest_pairs(
    store: SessionStore, message: StoredMessage, limit: int, now: float
) -> list[Pair]:
    """Read the newest `limit` turns with the status `ok` before a message, in a few reads.

    Raises StoreUnavailable.
    """
    found, before = list[StoredMessage](), message.id
    turns: list[Pair] = []
    for _ in range(PAGES if limit else 0):
        page = await store.messages(message.session_id, before=before, limit=2 * limit, now=now)
        found[:0] = page
        turns = pairs(found, message.id)
        if len(turns) >= limit or len(page) < 2 * limit:
            break
        before = page[0].id
    return turns[-limit:]


async def rated_turn(
    store: SessionStore, session: Session, client_message_id: str, now: float
) -> EndedTurn:
    """The turn of the message with this id, for hooks. Raises StoreUnavailable.

    Raises LookupError if it is not among the newest messages.
    """
    found = list[StoredMessage]()
    before: int | None = None
    while page := await store.messages(session.id, before=before, limit=RATED_PAGE, now=now):
        found[:0] = page
        for question, answer in pairs(found, page[-1].id + 1 if before is None else before):
            if question.client_message_id == client_message_id:
                return EndedTurn(
                    session,
                    question.id,
                    question.content,
                    answer.content,
                    answer.status,
                    now,
                    rating=answer.rating,
                )
        before = page[0].id
        if len(found) >= PAGES * RATED_PAGE:
            break
    raise LookupError("the rated answer")


def from_stable_start(turns: list[Pair], limit: int, trim_step: float) -> list[Pair]:
    """The turns without up to `trim_step * limit` of the oldest ones, if there are `limit` turns.

    Otherwise each prompt would start one turn later than the last one, and no prompt cache of a
    provider could serve it. The start moves by whole steps, counted in turns of the chat.
    """
    step = int(trim_step * limit)
    if step < 2 or len(turns) < limit:
        return turns
    starts = (at for at, turn in enumerate(turns[:step]) if _number(turn) % step == 0)
    return turns[next(starts, 0) :]


def _number(turn: Pair) -> int:
    """The number of a turn in its chat, from 0: its question has the id 1, 3, 5 and so on."""
    return turn[0].id // 2


def pairs(messages: Iterable[StoredMessage], current: int) -> list[Pair]:
    """Questions with their answers, oldest first, limited to questions with an id below `current`.

    Answers are found by `reply_to`, not by position. With two tabs open on one chat, a question can
    be stored before the answer of the previous one.
    """
    good = sorted((m for m in messages if m.status == "ok"), key=lambda message: message.id)
    questions = {m.id: m for m in good if m.role == "user" and m.id < current}
    found: dict[int, Pair] = {}
    for message in good:
        question = questions.get(message.reply_to or 0)
        if message.role == "assistant" and question:
            found[question.id] = (question, message)
    return [found[number] for number in sorted(found)]
