"""Groups questions that have the same terms, in stores without an index of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kefu.sessions.overview import AskedQuestion, AskedQuestions
from kefu.stores.turns import StoredTurn

COMMENTS = 10
"""The newest comments on the answers to a question."""


def asked_most(turns: Iterable[StoredTurn], limit: int, *, is_whole: bool) -> AskedQuestions:
    """The questions of these turns that were asked most. `is_whole`: there are no other turns."""
    # Not at the top: the stemmer is loaded when an operator looks, not when the service starts.
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
        [turn.comment for turn in group if turn.comment][:COMMENTS],
    )
