"""The rank of people's answers among the pages of the site."""

from __future__ import annotations

from collections.abc import Sequence

from kefu.knowledge.finding import SHORT_QUESTION_TERMS, PassageHit, asked
from kefu.knowledge.terms import question_terms
from kefu.knowledge.terms import terms as terms_of

FITTING_SHARE, RELATED_SHARE = 0.6, 1 / 3
"""Shares of the terms that a question has in common with an answer. From the first share on, the
answer is given before all pages; from the second on, before pages that have a smaller share, or
after them.
"""

MAX_FITTING = 3
"""The most passages of answers that are given before the pages."""

COMPARED_PAGES = 2
"""The best passages of pages, whose shares are compared."""


def with_answers(
    question: str,
    before: Sequence[str],
    answers: Sequence[PassageHit],
    pages: Sequence[PassageHit],
    limit: int,
) -> list[PassageHit]:
    """At most `limit` passages: answers that fit the question, pages, and one related answer.

    `question` and `before` are those of the search; `answers` and `pages` its results, best first.
    The title of an answer is the question that it answers.
    """
    shares = [(one, _share(question, before, one)) for one in answers]
    fitting = [one for one, share in shares if share >= FITTING_SHARE][:MAX_FITTING]
    related = [(one, share) for one, share in shares if RELATED_SHARE <= share < FITTING_SHARE][:1]
    if fitting or not related:
        last = [one for one, _ in related[: limit - len(fitting)]]
        return [*fitting, *pages][: limit - len(last)] + last
    [(answer, share)] = related
    best = max((_had(question, before, one) for one in pages[:COMPARED_PAGES]), default=0.0)
    return [answer, *pages][:limit] if share > best else [*pages[: limit - 1], answer]


def _share(question: str, before: Sequence[str], answer: PassageHit) -> float:
    """How much a question has in common with an answer, from 0 to 1.

    It is the share of the question's terms that the answer has, or the share of the answered
    question's terms that the question has, whichever is larger.
    """
    language = (answer.language,)
    whole = question_terms(asked(question, before), language)
    answered = question_terms(answer.title, language)
    return max(_had(question, before, answer), _part(answered, set(whole)))


def _had(question: str, before: Sequence[str], hit: PassageHit) -> float:
    """The share of the question's terms that a passage has.

    The terms of a short question include those of the question before.
    """
    wanted = question_terms(question, (hit.language,))
    if len(wanted) < SHORT_QUESTION_TERMS:
        wanted = question_terms(asked(question, before), (hit.language,))
    text = "\n".join((hit.title, *hit.headings, hit.text))
    return _part(wanted, set(terms_of(text, hit.language)))


def _part(terms: Sequence[str], among: set[str]) -> float:
    return sum(one in among for one in terms) / len(terms) if terms else 0.0
