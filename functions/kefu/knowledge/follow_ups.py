"""Questions that a visitor may ask next: what the found pages have beside the answer.

They are headings and titles of passages that were found and not cited, so no model is asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from kefu.knowledge.finding import KEPT_TERMS_SHARE, PassageHit, has_terms
from kefu.knowledge.sources import safe
from kefu.knowledge.terms import asked_language, question_terms

MAX_FOLLOW_UPS = 3
MAX_CHARS = 80
"""The longest text; the widget's own suggestions have the same limit."""

_QUESTION = re.compile(r"[?？؟]\s*$")
_SEPARATOR = re.compile(r"\s+[|–—·»›-]\s+|\s*[｜]\s*")
"""Between the parts of a title, such as `Delivery | Nordlys`."""
_ENOUGH = re.compile(r"\w\W+\w|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{4}")
"""Two words, or four characters of a script without spaces: one word, such as `Overview`, says
too little."""


def follow_ups(
    found: Sequence[PassageHit], used: Collection[int], question: str, before: Sequence[str]
) -> list[str]:
    """At most `MAX_FOLLOW_UPS` texts, headings that are questions first; often none.

    `found`: the passages, best first. `used`: the numbers of those that the answer cites, from 1.
    `before`: the visitor's earlier questions.
    """
    cited = [one for number, one in enumerate(found, 1) if number in used]
    if not cited:
        return []
    language = asked_language(question)
    others = [
        one
        for number, one in enumerate(found, 1)
        if number not in used
        and language in ("", one.language)
        and has_terms(one, one.wanted, KEPT_TERMS_SHARE)
    ]
    said = {_plain(one) for one in (question, *before)}
    said |= {_plain(name) for one in cited for name in (*one.headings, one.title)}
    languages = [language or "en"]
    wanted = set(question_terms(question, languages))
    chosen = dict[str, str]()
    for text in _candidates(others, {one.page for one in cited}, _site_parts(found)):
        key = _plain(text)
        is_new = not wanted.issuperset(question_terms(text, languages))
        if key not in said and is_new and len(text) <= MAX_CHARS and _ENOUGH.search(text):
            chosen.setdefault(key, text)
    return list(chosen.values())[:MAX_FOLLOW_UPS]


def _candidates(
    others: Sequence[PassageHit], cited_pages: Collection[str], site: Collection[str]
) -> Iterator[str]:
    headings = [_shown(one.headings[-1]) for one in others if one.headings]
    elsewhere = [one for one in others if one.page not in cited_pages]
    titles = [_shown(_without_site(one.title, site)) for one in elsewhere]
    both = [*headings, *titles]
    yield from (one for one in both if _QUESTION.search(one))
    yield from (one for one in titles if not _QUESTION.search(one))


def _site_parts(found: Sequence[PassageHit]) -> set[str]:
    """The parts of titles that several pages share, such as the name of the site."""
    titles = {one.page: one.title for one in found}
    counts = Counter(part for title in titles.values() for part in set(_SEPARATOR.split(title)))
    return {part for part, count in counts.items() if count > 1}


def _without_site(title: str, site: Collection[str]) -> str:
    return " ".join(part for part in _SEPARATOR.split(title) if part not in site)


def _shown(text: str) -> str:
    """The text as one line, as a visitor sees it."""
    return " ".join(safe(text).split())


def _plain(text: str) -> str:
    """The text as it is compared with others."""
    return re.sub(r"\W+", " ", text).strip().casefold()
