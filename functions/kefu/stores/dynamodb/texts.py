"""Searches and counts the texts of chats that were read, because a table has no index of texts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from kefu.sessions.store.model import SessionId
from kefu.sessions.store.overview import AskedQuestion, AskedQuestions, Overview, Page
from kefu.stores.turns import MAX_COMMENTS, StoredTurn, cursor_after

READ_AT_ONCE = 200
"""Sessions whose texts are read for one page of a search."""


def page_of_matches(
    rows: Sequence[Overview],
    turns_of: Callable[[SessionId], Iterable[StoredTurn]],
    searched: Sequence[Collection[str]],
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


def asked_most(turns: Iterable[StoredTurn], limit: int, *, is_whole: bool) -> AskedQuestions:
    """The questions of these turns that were asked most. `is_whole`: there are no other turns."""
    # Imported here: the stemmer is loaded when an operator looks, not when the service starts.
    from kefu.knowledge.gaps import same_terms

    groups = dict[frozenset[str], list[StoredTurn]]()
    for turn in sorted(turns, key=lambda one: one.answered_at, reverse=True):
        groups.setdefault(same_terms(turn.question), []).append(turn)
    found = sorted(map(_question, groups.values()), key=lambda one: (-one.times, -one.at))
    return AskedQuestions(found[:limit], sum(one.times for one in found), is_whole)


def _question(group: Sequence[StoredTurn]) -> AskedQuestion:
    """The question of these turns, which are ordered from the newest to the oldest."""
    last = group[0]
    return AskedQuestion(
        last.question,
        last.session_id,
        last.answered_at,
        len(group),
        sum(turn.unanswered for turn in group),
        sum(turn.rating == "down" for turn in group),
        [turn.comment for turn in group if turn.comment][:MAX_COMMENTS],
    )
