"""The rank of people's answers among the pages of the site."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from kefu.knowledge.finding import SHORT_QUESTION_TERMS, PassageHit, asked, page_terms
from kefu.knowledge.terms import normal, question_terms, unmarked

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
    wanted = _Wanted(question, before)
    shares = [(one, wanted.share_of_answer(one)) for one in answers]
    fitting = [one for one, share in shares if share >= FITTING_SHARE][:MAX_FITTING]
    related = [(one, share) for one, share in shares if RELATED_SHARE <= share < FITTING_SHARE][:1]
    if fitting or not related:
        last = [one for one, _ in related[: limit - len(fitting)]]
        return [*fitting, *pages][: limit - len(last)] + last
    [(answer, share)] = related
    best = max((wanted.share_of(one) for one in pages[:COMPARED_PAGES]), default=0.0)
    return [answer, *pages][:limit] if share > best else [*pages[: limit - 1], answer]


class _Wanted:
    """The terms of a question, for each language of the passages."""

    def __init__(self, question: str, before: Sequence[str]) -> None:
        self._question = asked(question, ())
        self._whole = asked(question, before)
        self._has_accents = unmarked(normal(self._whole)) != normal(self._whole)
        self._terms = dict[str, tuple[Sequence[str], Sequence[str]]]()

    def share_of_answer(self, answer: PassageHit) -> float:
        """How much the question has in common with an answer, from 0 to 1.

        It is the share of the question's terms that the answer has, or the share of the answered
        question's terms that the question has, whichever is larger.
        """
        _, whole = self._in(answer.language)
        answered = _question_terms(self._typed(asked(answer.title, ())), answer.language)
        return max(self.share_of(answer), _part(answered, frozenset(whole)))

    def share_of(self, hit: PassageHit) -> float:
        """The share of the question's terms that a passage has.

        The terms of a short question include those of the question before.
        """
        own, whole = self._in(hit.language)
        text = self._typed("\n".join((hit.title, *hit.headings, hit.text)))
        wanted = whole if len(own) < SHORT_QUESTION_TERMS else own
        return _part(wanted, _all_terms(text, hit.language))

    def _typed(self, text: str) -> str:
        """A text as the visitor types: without accents, if the question has none."""
        return text if self._has_accents else unmarked(normal(text))

    def _in(self, language: str) -> tuple[Sequence[str], Sequence[str]]:
        """The terms of the question, and those with the question before."""
        if language not in self._terms:
            texts = (self._question, self._whole)
            own, whole = (question_terms(text, (language,)) for text in texts)
            self._terms[language] = own, whole
        return self._terms[language]


# Kept, because the answers are few, and their terms take longer than the search.


@lru_cache(1024)
def _question_terms(question: str, language: str) -> Sequence[str]:
    return tuple(question_terms(question, (language,)))


@lru_cache(1024)
def _all_terms(text: str, language: str) -> frozenset[str]:
    return frozenset(page_terms(text, language))


def _part(terms: Sequence[str], among: frozenset[str]) -> float:
    return sum(one in among for one in terms) / len(terms) if terms else 0.0
