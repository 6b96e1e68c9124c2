"""Searches the texts of chats without an index."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from kefu.sessions.model import SessionId
from kefu.sessions.overview import Overview, Page
from kefu.stores.turns import READ_AT_ONCE, StoredTurn, cursor_after

Searched = Sequence[Collection[str]]


def searched_words(text: str) -> Searched:
    """The words of a search; empty if it has none."""
    # Not at the top: the stemmer is loaded for a search, not when the service starts.
    from kefu.knowledge import message_words

    return message_words.searched_words(text)


def page_of_matches(
    rows: Sequence[Overview],
    turns_of: Callable[[SessionId], Iterable[StoredTurn]],
    searched: Searched,
    limit: int,
) -> Page:
    """The sessions with these words among the first `READ_AT_ONCE` of `rows`.

    The cursor is None if all rows were read.
    """
    from kefu.knowledge.message_words import has_words

    found, read = list[Overview](), 0
    for row in rows[:READ_AT_ONCE]:
        if len(found) == limit:
            break
        read += 1
        turns = turns_of(row.session.id)
        if any(has_words((turn.question, turn.answer), searched) for turn in turns):
            found.append(row)
    cursor = cursor_after(rows[read - 1]) if read < len(rows) else None
    return Page(found, cursor, read=read)
