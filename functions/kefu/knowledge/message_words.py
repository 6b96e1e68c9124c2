"""Finds messages by their words. Messages and searches have the same terms as pages.

A message is short, and its language is a guess. So a searched word is looked up with its stem in
every language that can be guessed. A single Chinese, Japanese or Korean character is found, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from kefu.knowledge.stemming import stem
from kefu.knowledge.terms import LANGUAGES, characters, guessed_language, runs, terms

_GUESSED_FROM = 400
"""Characters of a message from which its language is guessed: more take longer than the stems."""

Searched = Sequence[Collection[str]]
"""The words of a search. Each is a set of terms, of which a message must have one."""


def message_words(texts: Iterable[str]) -> set[str]:
    """The terms of a question with its answer."""
    text = "\n".join(texts)
    return {*terms(text, guessed_language(text[:_GUESSED_FROM])), *characters(text)}


def searched_words(query: str) -> Searched:
    """The words of a search; empty if the search has no words."""
    return [frozenset(one) for kind, run in runs(query) for one in _alternatives(kind, run)]


def has_words(texts: Iterable[str], searched: Searched) -> bool:
    """Whether the texts together contain all words of a search that has some."""
    found = message_words(texts)
    return bool(searched) and all(not found.isdisjoint(one) for one in searched)


def _alternatives(kind: str, run: str) -> Iterator[Iterable[str]]:
    if kind == "word":
        yield (stem(run[:64], language) for language in LANGUAGES)
        return
    size = 2 if kind == "pairs" else 3
    for start in range(max(1, len(run) - size + 1)):
        yield (run[start : start + size],)
