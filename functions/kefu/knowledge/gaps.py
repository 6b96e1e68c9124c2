"""The questions that visitors ask most, and the gaps of the site's pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from kefu.knowledge.terms import guessed_language, question_terms

OLD = 3 * 86400.0
"""Seconds after which learnt pages count as out of date."""

Reason = Literal["", "not answered", "rated down"]
"""Why a question is a gap; empty if it is none."""


class Asked(NamedTuple):
    """A question of a visitor."""

    question: str
    session: str
    """The id of its chat."""
    at: float
    """Unix time in seconds."""
    reason: Reason


class Gap(NamedTuple):
    """A question with all that have the same terms."""

    question: str
    """As it was asked last."""
    times: int
    last: Asked
    reasons: Sequence[Reason]


class Gaps(NamedTuple):
    """What the stored chats and the file of learnt pages say together."""

    gaps: Sequence[Gap]
    chats: int
    """Stored chats that were read."""
    uncited: Sequence[str]
    """Learnt pages that no answer has cited."""
    problems: Sequence[tuple[str, str]]
    """Pages that failed in the last run, each with the reason."""
    age: float
    """Seconds since the pages were learnt."""


def gaps(asked: Iterable[Asked], languages: Sequence[str] = ()) -> list[Gap]:
    """The questions, grouped by equal terms: the most frequent first, then the newest.

    `languages` are those of the learnt pages. Without them, each question's language is guessed.
    """
    groups = dict[frozenset[str], list[Asked]]()
    for one in asked:
        stems = languages or (guessed_language(one.question),)
        terms = frozenset(question_terms(one.question, stems)) or frozenset((one.question,))
        groups.setdefault(terms, []).append(one)
    found = [_gap(group) for group in groups.values()]
    return sorted(found, key=lambda gap: (-gap.times, -gap.last.at))


def _gap(group: Sequence[Asked]) -> Gap:
    last = max(group, key=lambda one: one.at)
    return Gap(last.question, len(group), last, sorted({one.reason for one in group} - {""}))
