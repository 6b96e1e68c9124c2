"""Which of a chat's stored messages a model is told again: whole turns, in the order of their
questions, and none that went wrong.
"""

from __future__ import annotations

from collections.abc import Iterable

from kefu.sessions import StoredMessage

Pair = tuple[StoredMessage, StoredMessage]


def pairs(messages: Iterable[StoredMessage], current: int) -> list[Pair]:
    """Questions with their answers, oldest first, without `current` and all asked after it.

    By ids, not by place: with two pages open on one chat an answer may stand behind the next
    question, and the message just saved need not be the last.
    """
    good = sorted((m for m in messages if m.status == "ok"), key=lambda message: message.id)
    questions = {m.id: m for m in good if m.role == "user" and m.id < current}
    found: dict[int, Pair] = {}
    for message in good:
        question = questions.get(message.reply_to or 0)
        if message.role == "assistant" and question:
            found[question.id] = (question, message)
    return [found[number] for number in sorted(found)]
