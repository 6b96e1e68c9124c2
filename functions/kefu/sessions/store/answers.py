"""Defines an answer that a person wrote for all visitors, and the port of its store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

MAX_ANSWERS = 1000
"""Answers of one service. All are in the memory of each process."""

MAX_QUESTION, MAX_TEXT, MAX_AUTHOR, MAX_ADDRESS = 500, 8000, 60, 1000
"""Characters of a question, of a text, of an author's name and of a page's address."""


class WrittenAnswer(NamedTuple):
    """A question with the answer that a person wrote for all visitors."""

    id: str
    question: str
    text: str
    """Markdown."""
    author: str = ""
    """The name that visitors see; empty for the site itself."""
    page: str = ""
    """The address of a page with more about it; empty for none."""
    session_id: str = ""
    """The chat from which the answer was made; empty for none."""
    site: str = ""
    """The preset whose site has the answer; empty for that of the service."""
    created_at: float = 0.0
    """Unix time in seconds."""
    updated_at: float = 0.0
    """When the answer was written or last edited."""


def newest_answers(stored: Sequence[WrittenAnswer]) -> Sequence[WrittenAnswer]:
    """The answers in the order of `AnswerStore.answers`."""
    return sorted(stored, key=lambda one: (-one.updated_at, one.id))


def made_from(chats: Sequence[str], answers: Sequence[WrittenAnswer]) -> list[WrittenAnswer]:
    """The answers that were made from one of these chats."""
    known = set(chats)
    return [one for one in answers if one.session_id in known]


class AnswerStore(Protocol):
    """Stores the answers of people. Every method raises StoreUnavailable on failure.

    Answers do not expire: they are a part of the site, and are kept until they are withdrawn.
    """

    async def save_answer(self, answer: WrittenAnswer) -> None:
        """Save an answer, and replace that with the same id. Idempotent."""
        ...

    async def answers(self) -> Sequence[WrittenAnswer]:
        """All answers, by descending time of their last change and by id."""
        ...

    async def answers_version(self) -> int:
        """A number that changes with each change of any answer; 0 before the first one.

        Cheap enough for each question. It may be a second late.
        """
        ...

    async def withdraw_answer(self, id: str) -> bool:
        """Delete an answer. Idempotent. Returns False if there was none."""
        ...
