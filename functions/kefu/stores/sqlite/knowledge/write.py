"""Writes the file of learnt pages: under another name, which replaces the old file when
complete.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kefu.knowledge.finding import LARGE_SITE_PASSAGES
from kefu.knowledge.frame import parted
from kefu.knowledge.learning import Learnt
from kefu.knowledge.pages import PageText, Passage
from kefu.knowledge.passages import passages
from kefu.knowledge.terms import page_language, terms, whole_term
from kefu.stores.sqlite.knowledge.packed import packed, packed_pages, unpacked
from kefu.stores.sqlite.knowledge.schema import MEANING, CannotRead, check, create, meaning_of

COMMON_SHARE = 0.05
FREQUENT_PASSAGES = 500
"""A frequent term is in more than the share `COMMON_SHARE` of the passages, or in more."""

NOTHING_OWN = "has no text of its own"
"""The reason why a page is not learnt: its text is on many pages."""


class PageProblem(NamedTuple):
    """A page that was not learnt."""

    source: str
    kind: str
    """`skipped` or `failed`."""
    reason: str


class Run(NamedTuple):
    """The result of one run of `kefu learn`."""

    pages: Sequence[Learnt]
    problems: Sequence[PageProblem]
    made: float
    """Unix time in seconds."""


Encode = Callable[[Sequence[str]], bytes]
"""Returns the numbers for the meaning of texts, equally many bytes for each."""

Encoded = Callable[[int, int], None]
"""Is called after each page that was encoded: how many, and of how many."""


class Meaning(NamedTuple):
    """How to add the meaning of passages to the file."""

    model: str
    encode: Encode
    encoded: Encoded | None = None


class Size(NamedTuple):
    pages: int
    passages: int
    text: int
    """Bytes of the passages' text in UTF-8."""
    file: int
    without_own: Sequence[str] = ()
    """The addresses of pages that have no text of their own."""


def write(path: Path, run: Run, meaning: Meaning | None = None) -> Size:
    """Replace the file. A killed process leaves the old file or the new file, never half a file.

    Equal pages give equal bytes with the same version of SQLite. Raises OSError, sqlite3.Error.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _beside(path) as new:
        with contextlib.closing(sqlite3.connect(new, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode = OFF")
            db.execute("PRAGMA synchronous = OFF")
            db.execute("BEGIN")
            create(db)
            size = _fill(db, run)
            if meaning:
                _add_meaning(db, meaning, _kept(path, meaning.model))
            db.execute("COMMIT")
            db.execute("VACUUM")
        _flush(new)
        size = size._replace(file=new.stat().st_size)
        new.replace(path)
        _flush(path.parent)
    return size


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[Path]:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    os.close(handle)
    new = Path(name)
    try:
        yield new
    finally:
        new.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _fill(db: sqlite3.Connection, run: Run) -> Size:
    pages = sorted(run.pages, key=lambda one: one.page.url)
    db.execute("INSERT INTO whole VALUES (?)", (packed_pages(pages),))
    own, shared = parted(one.page for one in pages)
    index = _Index(db)
    without = [page.url for page in own if not index.add(page)]
    count = index.pages
    for page in shared:
        index.add(page)
    index.close()
    problems = [*run.problems, *(PageProblem(url, "skipped", NOTHING_OWN) for url in without)]
    db.executemany("INSERT INTO problem VALUES (?, ?, ?)", sorted(problems))
    facts = {
        "made": run.made,
        "languages": " ".join(sorted(index.languages)),
        "passages": index.next - 1,
    }
    db.executemany("INSERT INTO meta VALUES (?, ?)", [(n, str(v)) for n, v in facts.items()])
    return Size(count, index.next - 1, index.size, 0, without)


def _add_meaning(db: sqlite3.Connection, meaning: Meaning, kept: _Vectors) -> None:
    db.execute(MEANING)
    db.execute("INSERT INTO meta VALUES ('meaning', ?)", (meaning.model,))
    pages = db.execute("SELECT first, title, passages FROM page ORDER BY first").fetchall()
    new = sum((title, body) not in kept for _, title, body in pages)
    done = 0
    for first, title, body in pages:
        if (vectors := kept.get((title, body))) is None:
            texts = ["\n".join((title, *one.headings, one.text)) for one in unpacked(body)]
            vectors = meaning.encode(texts)
            done += 1
            if meaning.encoded:
                meaning.encoded(done, new)
        db.execute("INSERT INTO meaning VALUES (?, ?)", (first, vectors))


_Vectors = Mapping[tuple[str, bytes], bytes]


def _kept(path: Path, model: str) -> _Vectors:
    """The numbers of the last file by title and passages, because a page takes long to encode."""
    sql = "SELECT title, passages, vectors FROM page JOIN meaning USING (first)"
    if not path.is_file():
        return {}
    with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
        try:
            check(db, str(path))
            has_meaning = meaning_of(db) == model
            return {(one, body): of for one, body, of in db.execute(sql)} if has_meaning else {}
        except (CannotRead, sqlite3.DatabaseError):
            return {}


class _Index:
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

    def close(self) -> None:
        count = self.next - 1
        if count > LARGE_SITE_PASSAGES:
            least = min(FREQUENT_PASSAGES, COMMON_SHARE * count)
            often = [one for one in self._frequency.items() if one[1] > least]
            self._db.executemany("INSERT INTO frequent VALUES (?, ?)", sorted(often))
        self._db.execute("INSERT INTO term (term) VALUES ('optimize')")
