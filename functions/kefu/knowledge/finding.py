"""Which passages answer a question: the port to the index, and the choice among its hits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple, Protocol

from kefu.knowledge.passages import SMALL_SECTION_BYTES
from kefu.knowledge.simplified import simplified
from kefu.knowledge.terms import (
    UNMARKED,
    has_subject,
    is_pair,
    question_terms,
    terms,
    unmarked_terms,
)

MAX_PASSAGES = 6
"""The most passages that the model receives."""

MAX_PASSAGES_PER_PAGE = 2
"""The most passages that one page contributes, so that other pages are considered, too."""


ENOUGH_TERMS_SHARE = 0.6
"""If one of the best two passages has this share of a question's terms, the question's own words
suffice. On the development set, 80 % of the unanswered questions score less.
"""

NAMED_TERMS_SHARE = 0.5
"""A passage without all of the terms must have this share in one of its headings, or in its title.
On documentation sites, this finds 23 of 25 questions in other words than the pages have, and takes
3 of 25 in their words for such.
"""

KEPT_TERMS_SHARE = 0.4
"""With this share of a question's terms, the best passage by words stays before those that are
nearer in meaning. On DRCD, r@1 is .922 so, and .797 without.
"""

SHORT_QUESTION_TERMS = 4
"""A question with fewer terms needs the question before it, or says too little to be found in
passages without a heading.
"""


LARGE_SITE_PASSAGES = 2000
"""A site with more passages lists its frequent terms, which take long to rank."""

MAX_RANKED_PASSAGES = 10_000
"""The most passages with frequent terms that are ranked for a question, because each takes time."""

MAX_SENTENCES = 3
"""The most sentences of a message that are also looked up alone, because each takes time."""

_LONGEST_WRITTEN = 2_000
"""Characters of a message that somebody wrote. A longer one is a pasted text."""
_SENTENCE_END = re.compile(r"(?<=[.!?…؟:])\s+|(?<=[。！？：])|\n+")
_CLAUSE_END = re.compile(r"[,;]\s+|[，；،؛]\s*")
_LONG_SENTENCE_TERMS = 9
"""A sentence with so many terms may tell a story before its question."""
_LEAST_CLAUSE_TERMS = 2
"""A clause with fewer terms asks about nothing by itself. In Chinese, two characters are a word."""
_QUESTION_MARKS = ("?", "？", "؟")

RRF_K = 60
"""The constant of reciprocal rank fusion, as in its paper. On the development set 10 was no
better."""


class PassageHit(NamedTuple):
    """A passage of the site that fits a question."""

    page: str
    """The address or the path under which the page was learnt."""
    url: str
    """A link to the passage; empty when the page has no address on the web."""
    title: str
    headings: Sequence[str]
    text: str
    score: float
    """Higher is better. Scores of different questions cannot be compared."""
    language: str = ""
    """The language by which the passage's terms were stemmed."""
    wanted: Sequence[str] = ()
    """The terms of the question."""
    near: Sequence[str] = ()
    """Words of a similar meaning that were looked for, too."""
    part: int = 0
    """The number of the part of the page, such as a page of a PDF."""
    cited_as: str = ""
    """The name of the source, if that is not the title."""

    @property
    def terms(self) -> list[str]:
        """The terms of the question that the passage contains. The terms are computed on request,
        because that takes longer than the search.
        """
        return sorted(self._has().intersection(self.wanted))

    @property
    def matched(self) -> list[str]:
        """The terms of the question and related words, such as `~refund`, in the passage."""
        has = self._has()
        related = (f"~{one}" for one in sorted(has.intersection(self.near)))
        return [*sorted(has.intersection(self.wanted)), *related]

    @property
    def heading(self) -> str:
        return " › ".join(self.headings)

    def _has(self) -> set[str]:
        text = "\n".join((self.title, *self.headings, self.text))
        plain = (one.removeprefix(UNMARKED) for one in unmarked_terms(text, self.language))
        return {*page_terms(text, self.language), *plain}


class Knowledge(Protocol):
    @property
    def languages(self) -> Sequence[str]:
        """The languages of the pages, such as `en`."""
        ...

    async def find(self, question: str, before: Sequence[str], limit: int) -> Sequence[PassageHit]:
        """At most `limit` passages for a question, best first.

        `before` are the visitor's earlier questions, oldest first. Raises nothing: an index that
        cannot be read finds nothing, and its owner logs why.
        """
        ...


def with_before(question: str, before: Sequence[str]) -> str:
    """A follow-up such as "and how much?" needs the previous question."""
    return "\n".join((*before[-1:], question))


def questions_in(message: str, languages: Sequence[str]) -> list[str]:
    """The sentences of a message that ask; without a question mark, its last ones.

    Of a long sentence also its last clause. Empty for a message of one short sentence, and for a
    pasted text. A greeting and a story have words that other pages are about, and two questions
    have two answers. `languages`: those of the site.
    """
    sentences = map(str.strip, _SENTENCE_END.split(message))
    parts = [one for one in sentences if has_subject(one, languages)]
    if not parts or len(message) > _LONGEST_WRITTEN:
        return []
    asking = [one for one in parts if one.endswith(_QUESTION_MARKS)] or parts
    clause = _last_clause(asking[-1], languages)
    return [*(asking if len(parts) > 1 else ()), *clause][-MAX_SENTENCES:]


def _last_clause(sentence: str, languages: Sequence[str]) -> list[str]:
    """The clause that asks in "I bought socks last week, my feet are cold, can I return them?"."""
    clauses, wanted = _CLAUSE_END.split(sentence), question_terms(sentence, languages)
    if len(clauses) < 2 or len(wanted) < _LONG_SENTENCE_TERMS:
        return []
    for clause in reversed(clauses):
        # Of frequent words alone, such as "what do I do", all would be terms.
        about = set(question_terms(clause, languages)).intersection(wanted)
        if len(about) >= _LEAST_CLAUSE_TERMS or any(map(is_pair, about)):
            return [clause]
    return []


def asked(question: str, before: Sequence[str]) -> str:
    """The text whose terms are looked up."""
    return simplified(with_before(question, before))


def page_terms(text: str, language: str) -> list[str]:
    """The terms of a page's text as the index has them."""
    return terms(simplified(text), language)


def fits_badly(
    found: Sequence[PassageHit], question: str, before: Sequence[str], languages: Sequence[str]
) -> bool:
    """Whether other words than the question's may find better passages.

    Other words may help a short question after another one, and a question whose best passages have
    few of its terms, or most of them in their text alone: a page may say "delete" and "folder"
    without being about that.
    """
    if before and len(question_terms(question, languages)) < SHORT_QUESTION_TERMS:
        return True
    wanted = question_terms(asked(question, before), languages)
    return not any(_is_about(one, wanted) for one in found[:2])


def _is_about(found: PassageHit, wanted: Sequence[str]) -> bool:
    is_long = len(wanted) >= SHORT_QUESTION_TERMS
    if not has_terms(found, wanted, ENOUGH_TERMS_SHARE):
        return False
    names = [set(page_terms(one, found.language)) for one in (found.title, *found.headings) if one]
    if is_long and (not names or has_terms(found, wanted, 1.0)):
        return True
    return any(len(one.intersection(wanted)) >= NAMED_TERMS_SHARE * len(wanted) for one in names)


def has_terms(found: PassageHit, wanted: Sequence[str], share: float) -> bool:
    """Whether a passage has this share of the terms of a question."""
    return len(found._replace(wanted=wanted).terms) >= share * len(wanted)


def joined(*rankings: Sequence[int]) -> list[tuple[int, float]]:
    """Merge rankings of ids into one ranking, best first. Returns each id with its score.

    Reciprocal rank fusion (Cormack and others, 2009): scores of two rankings cannot be compared,
    ranks can. The score is 1 for the first place in one ranking, and 2 for the first place in both.
    """
    scores = dict[int, float]()
    for ranking in rankings:
        for place, id in enumerate(ranking):
            scores[id] = scores.get(id, 0.0) + (RRF_K + 1) / (RRF_K + 1 + place)
    return sorted(scores.items(), key=lambda one: -one[1])


def in_turn(rankings: Sequence[Sequence[int]]) -> list[tuple[int, float]]:
    """The first id of each ranking, then the second of each, and so on, with falling scores."""
    places = zip_longest(*rankings)
    ids = dict.fromkeys(id for place in places for id in place if id is not None)
    return [(id, 1 / place) for place, id in enumerate(ids, start=1)]


def chosen(hits: Iterable[PassageHit], limit: int) -> list[PassageHit]:
    """The first `limit` hits, with at most `MAX_PASSAGES_PER_PAGE` of a page or of a part of one,
    and no passage twice. Of two with the same names, that with the shorter address is kept.
    """
    seen, kept = Counter[tuple[str, int]](), list[PassageHit]()
    for hit in hits:
        copied = next((at for at, one in enumerate(kept) if _is_copy(hit, one)), None)
        if copied is not None:
            if _names(hit) == _names(kept[copied]):
                kept[copied] = min(kept[copied], hit, key=lambda one: len(one.page))
            continue
        seen[hit.page, hit.part] += 1
        if seen[hit.page, hit.part] <= MAX_PASSAGES_PER_PAGE:
            kept.append(hit)
        if len(kept) == limit:
            break
    return kept


def _is_copy(one: PassageHit, other: PassageHit) -> bool:
    """Whether a passage is on two pages, such as a product's and that of its print version.

    A long text may have more words in its title and headings.
    """
    if one.text != other.text:
        return False
    if len(one.text.encode(errors="replace")) < SMALL_SECTION_BYTES:
        return _names(one) == _names(other)
    mine, others = (set(page_terms(" ".join(_names(it)), it.language)) for it in (one, other))
    return mine <= others or others <= mine


def _names(hit: PassageHit) -> tuple[str, ...]:
    return (hit.title, *hit.headings)
