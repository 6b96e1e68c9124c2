"""The questions that visitors ask most, and the gaps of the site's pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from kefu.knowledge.terms import guessed_language, question_terms

OLD_SECONDS = 3 * 86400.0
"""Seconds after which learnt pages count as out of date."""

Reason = Literal["not answered", "rated down"]
"""Why a question is a gap."""


class VisitorQuestion(NamedTuple):
    """A question of a visitor."""

    question: str
    session: str
    """The id of the question's chat."""
    at: float
    """Unix time in seconds."""
    reason: Reason
    comment: str = ""
    """The visitor's comment on an answer that they rated down."""


class Gap(NamedTuple):
    """A group of questions that have the same terms."""

    question: str
    """The newest question of the group."""
    times: int
    last: VisitorQuestion
    reasons: Sequence[Reason]
    comments: Sequence[str] = ()
    """The comments of visitors, newest first."""


class Gaps(NamedTuple):
    """The gaps that the stored chats and the file of learnt pages show together."""

    gaps: Sequence[Gap]
    chats: int
    """Stored chats that were read."""
    uncited: Sequence[str]
    """Learnt pages that no answer has cited."""
    problems: Sequence[tuple[str, str]]
    """Pages that failed in the last run, each with the reason."""
    age: float
    """Seconds since the pages were learnt."""


def gaps(asked: Iterable[VisitorQuestion], languages: Sequence[str]) -> list[Gap]:
    """The questions, grouped by equal terms: the most frequent first, then the newest.

    `languages`: those of the learnt pages.
    """
    groups = dict[frozenset[str], list[VisitorQuestion]]()
    for one in asked:
        groups.setdefault(same_terms(one.question, languages), []).append(one)
    found = [_gap(group) for group in groups.values()]
    return sorted(found, key=lambda gap: (-gap.times, -gap.last.at))


def same_terms(question: str, languages: Sequence[str] = ()) -> frozenset[str]:
    """A key that two questions share if they have the same terms.

    Without `languages`, the language of the question is guessed.
    """
    stems = languages or (guessed_language(question),)
    return frozenset(question_terms(question, stems)) or frozenset((question,))


def _gap(group: Sequence[VisitorQuestion]) -> Gap:
    newest_first = sorted(group, key=lambda one: one.at, reverse=True)
    last = newest_first[0]
    reasons = sorted({one.reason for one in group})
    comments = [one.comment for one in newest_first if one.comment]
    return Gap(last.question, len(group), last, reasons, comments)
