"""Pages that are the same in several languages, as their `hreflang` links say.

Such pages share names and code, and so would take several places of an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kefu.knowledge.finding import PassageHit
from kefu.knowledge.learning import TRANSLATIONS, Learnt
from kefu.knowledge.terms import asked_language, language_of


def groups(pages: Iterable[Learnt]) -> dict[str, str]:
    """The name of the group of each page that has translations, by the page's address.

    The name is the first address of the group in alphabetical order. Pages are together only if
    each names the other, as the standard for `hreflang` demands.
    """
    named = {
        page.url: {page.url, *filter(None, str(state.get(TRANSLATIONS, "")).split("\n"))}
        for page, state in pages
    }
    found = dict[str, str]()
    for url, others in named.items():
        mutual = [one for one in others if url in named.get(one, ())]
        if len(mutual) > 1:
            found[url] = min(mutual)
    return found


def in_one_language(
    hits: Sequence[PassageHit], groups: Mapping[str, str], question: str
) -> list[PassageHit]:
    """The hits without translations of a page that is among them.

    The page in the question's language is kept, or else the best one.
    """
    language = asked_language(question)
    kept = dict[str, PassageHit]()
    for hit in hits:
        if (group := groups.get(hit.page)) is None:
            continue
        best = kept.setdefault(group, hit)
        if language_of(hit.language) == language != language_of(best.language):
            kept[group] = hit
    return [one for one in hits if (g := groups.get(one.page)) is None or kept[g].page == one.page]
