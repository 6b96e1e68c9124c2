"""Fills the tables of a file of learnt pages with passages and their terms."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable

from kefu.knowledge.finding import LARGE_SITE_PASSAGES
from kefu.knowledge.pages import PageText, Passage
from kefu.knowledge.passages import passages
from kefu.knowledge.terms import page_language, terms, whole_term
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

    def add(self, page: PageText) -> bool:
        """Add the passages of a page. Returns False for a page without text."""
        cut = passages(page)
        if not cut:
            return False
        self.pages += 1
        language = page_language(page.language, "\n".join(one.text for one in cut))
        self.languages.add(language)
        row: tuple[int | str | bytes, ...] = (self.next, page.url, page.title, language)
        self._db.execute("INSERT INTO page VALUES (?, ?, ?, ?, ?)", (*row, packed(cut)))
        for passage in cut:
            self._add(page.title, passage, language)
        return True

    def _add(self, title: str, passage: Passage, language: str) -> None:
        headings = " ".join((*passage.headings, *passage.inside))
        fields = [terms(field, language) for field in (title, headings, passage.text)]
        own = (*passage.headings[-1:], *passage.inside)
        fields[0].append(whole_term(title, language))
        fields[1] += [whole_term(heading, language) for heading in own]
        row = (self.next, *(" ".join(field) for field in fields))
        self._db.execute("INSERT INTO term (rowid, title, heading, body) VALUES (?, ?, ?, ?)", row)
        self._frequency.update({term for field in fields for term in field})
        self.size += len(passage.text.encode())
        self.next += 1

    def close(self, made: float) -> None:
        count = self.next - 1
        if count > LARGE_SITE_PASSAGES:
            least = min(FREQUENT_PASSAGES, COMMON_SHARE * count)
            often = [one for one in self._frequency.items() if one[1] > least]
            self._db.executemany("INSERT INTO frequent VALUES (?, ?)", sorted(often))
        facts = {"made": made, "languages": " ".join(sorted(self.languages)), "passages": count}
        rows = [(name, str(value)) for name, value in facts.items()]
        self._db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        self._db.execute("INSERT INTO term (term) VALUES ('optimize')")
