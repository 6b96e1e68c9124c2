"""Finds the words of the pages that somebody meant who made a typo, or typed without accents."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterable, Sequence

from kefu.knowledge.spelling import Spelling, half, is_comparable, nearest
from kefu.knowledge.terms import (
    has_subject,
    normal,
    question_terms,
    replaced,
    typed_terms,
    unmarked,
)
from kefu.stores.sqlite.knowledge.schema import has_table

MAX_ENDING = 2
"""Letters that a stem may lack, if a word that no page has shall count as known by its stem."""

_LAST = chr(sys.maxunicode)
_NEAR = """SELECT word, passages FROM spelling
    WHERE word BETWEEN ? AND ? AND length(word) BETWEEN ? AND ?"""


class TypedWords:
    def __init__(self, db: sqlite3.Connection, languages: Sequence[str]) -> None:
        """A file of an earlier version has no such words: then questions stay as they are."""
        self._db = db
        self._languages = languages
        self._is_empty = not has_table(db, "spelling")

    def mended(self, question: str) -> str:
        """The question with the words that were meant."""
        return question if self._is_empty else replaced(question, self._meant)

    def without_accents(self, text: str, language: str, asked_in: Sequence[str] = ()) -> list[str]:
        """The terms for words with accents; none for a text that has accents itself, or if the
        pages have no such words.
        """
        plain = normal(text)
        if self._is_empty or unmarked(plain) != plain:
            return []
        found = typed_terms(plain, [language], asked_in)
        return found if found and self.has("unmarked", found) else []

    def has(self, table: str, stems: Sequence[str]) -> bool:
        """Whether a passage has one of the stems. `table`: `term` or `unmarked`."""
        sql = f"SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT 1"  # noqa: S608 - two names
        return (
            self._db.execute(sql, (" OR ".join(f'"{one}"' for one in stems),)).fetchone()
            is not None
        )

    def _meant(self, word: str) -> str:
        if not is_comparable(word, missing=1) or not has_subject(word, self._languages):
            return word
        if self._is_known(word):
            return word
        near = (Spelling(*one) for one in self._near(word[: half(word)], len(word)))
        from_end = self._near(f" {word[::-1][: half(word)]}", len(word) + 1)
        turned = (Spelling(one[:0:-1], passages) for one, passages in from_end)
        return nearest(word, (*near, *turned)) or word

    def _near(self, start: str, size: int) -> Iterable[tuple[str, int]]:
        return self._db.execute(_NEAR, (start, start + _LAST, size - 1, size + 1))

    def _is_known(self, word: str) -> bool:
        if self._db.execute("SELECT 1 FROM spelling WHERE word = ?", (word,)).fetchone():
            return True
        stems = [one for one in question_terms(word, self._languages) if _is_like(word, one)]
        typed = typed_terms(word, self._languages)
        found = {"term": stems, "unmarked": [one for one in typed if _is_like(word, one[1:])]}
        return any(self.has(table, stems) for table, stems in found.items() if stems)


def _is_like(word: str, stem: str) -> bool:
    """Whether a stem says which word it is from: `per` of `perido` may be of any word."""
    return len(word) - len(stem) <= MAX_ENDING
