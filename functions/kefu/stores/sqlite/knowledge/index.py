"""Fills the tables of a file of learnt pages with passages and their terms."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence

from kefu.knowledge.finding import LARGE_SITE_PASSAGES, page_terms
from kefu.knowledge.pages import PageText, Passage
from kefu.knowledge.passages import parts, passages
from kefu.knowledge.simplified import simplified
from kefu.knowledge.spelling import is_comparable, words
from kefu.knowledge.terms import (
    normal,
    page_language,
    unmarked,
    unmarked_terms,
    whole_term,
)
from kefu.stores.sqlite.knowledge.packed import packed
from kefu.stores.sqlite.knowledge.schema import create

COMMON_SHARE = 0.05
FREQUENT_PASSAGES = 500
"""A frequent term is in more than the share `COMMON_SHARE` of the passages, or in more."""


def in_memory(pages: Iterable[PageText]) -> sqlite3.Connection:
    """The tables of a file with these pages. Unlike in a file, lines of many pages stay."""
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    db.execute("BEGIN")
    create(db)
    index = Index(db)
    for page in pages:
        index.add(page)
    index.close(0.0)
    db.execute("COMMIT")
    return db


class Index:
    """The rows of the index. A passage's id is its number in the file, from 1."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.next = 1
        self.pages = 0
        self.size = 0
        self.languages = set[str]()
        self._db = db
        self._frequency = Counter[str]()
        self._words = Counter[str]()

    def add(self, page: PageText) -> bool:
        """Add the passages of a page. Returns False for a page without text."""
        cut = [(one.title, passages(one)) for one in parts(page)]
        if not any(found for _, found in cut):
            return False
        self.pages += 1
        text = "\n".join(one.text for _, found in cut for one in found)
        language = page_language(page.language, text)
        self.languages.add(language)
        for title, found in cut:
            if found:
                row: tuple[int | str | bytes, ...] = (self.next, page.url, title, language)
                self._db.execute("INSERT INTO page VALUES (?, ?, ?, ?, ?)", (*row, packed(found)))
            for passage in found:
                self._add(title, passage, language)
        return True

    def _add(self, title: str, passage: Passage, language: str) -> None:
        headings = " ".join((*passage.headings, *passage.inside))
        texts = (title, headings, passage.text)
        own = (*passage.headings[-1:], *passage.inside)
        fields = [page_terms(one, language) for one in texts]
        fields[0].append(whole_term(simplified(title), language))
        fields[1] += [whole_term(simplified(one), language) for one in own]
        self._insert("term", fields)
        plain = [unmarked_terms(one, language) for one in texts]
        if any(plain):
            plain[0].append(whole_term(unmarked(normal(title)), language))
            plain[1] += [whole_term(unmarked(normal(one)), language) for one in own]
            self._insert("unmarked", plain)
        stems = (one for field in fields for one in field if is_comparable(one) and one.isalpha())
        self._words.update({*stems, *(word for text in texts for word in words(text))})
        self.size += len(passage.text.encode())
        self.next += 1

    def _insert(self, table: str, fields: Sequence[Sequence[str]]) -> None:
        row = (self.next, *map(" ".join, fields))
        sql = f"INSERT INTO {table} (rowid, title, heading, body) VALUES (?, ?, ?, ?)"  # noqa: S608
        self._db.execute(sql, row)
        self._frequency.update({term for field in fields for term in field})

    def close(self, made: float) -> None:
        count = self.next - 1
        if count > LARGE_SITE_PASSAGES:
            least = min(FREQUENT_PASSAGES, COMMON_SHARE * count)
            often = [one for one in self._frequency.items() if one[1] > least]
            self._db.executemany("INSERT INTO frequent VALUES (?, ?)", sorted(often))
        both = {f" {word[::-1]}": count for word, count in self._words.items()} | self._words
        self._db.executemany("INSERT INTO spelling VALUES (?, ?)", sorted(both.items()))
        facts = {"made": made, "languages": " ".join(sorted(self.languages)), "passages": count}
        rows = [(name, str(value)) for name, value in facts.items()]
        self._db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        self._db.execute("INSERT INTO term (term) VALUES ('optimize')")
        self._db.execute("INSERT INTO unmarked (unmarked) VALUES ('optimize')")
