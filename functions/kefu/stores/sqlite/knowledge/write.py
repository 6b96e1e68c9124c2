"""Writes the file of learnt pages: under another name, which replaces the old file when
complete.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kefu.knowledge.finding import MANY
from kefu.knowledge.frame import Frame, cleaned, frame_of
from kefu.knowledge.pages import Page, Passage
from kefu.knowledge.passages import passages
from kefu.knowledge.terms import page_language, terms, whole_term
from kefu.stores.sqlite.knowledge.packed import as_json, packed, unpacked
from kefu.stores.sqlite.knowledge.schema import MEANING, CannotRead, check, create, meaning_of

COMMON = 0.05
FREQUENT = 500
"""A frequent term is in more than the share `COMMON` of all passages, or in more than so many."""


class Problem(NamedTuple):
    """A page that was not learnt."""

    source: str
    kind: str
    """`skipped` or `failed`."""
    reason: str


class Learnt(NamedTuple):
    """A page with the data that the next run needs to learn whether it changed."""

    page: Page | CutPage
    state: Mapping[str, str | int]


class CutPage(NamedTuple):
    """A page of the last file. It did not change, so it is neither read nor cut again."""

    url: str
    title: str
    language: str
    passages: Sequence[Passage]


NO_FRAME = Frame()


class Run(NamedTuple):
    """The result of one run of `kefu learn`."""

    pages: Sequence[Learnt]
    problems: Sequence[Problem]
    made: float
    """Unix time in seconds."""
    frame: Frame = NO_FRAME
    """Of the last run."""


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


def write(path: Path, run: Run, meaning: Meaning | None = None) -> Size:
    """Replace the file. A killed process leaves the old file, or the new one, never half of one.

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
    frame = frame_of([one.page for one in run.pages if isinstance(one.page, Page)], run.frame)
    index = _Index(db)
    for page, state in sorted(run.pages, key=lambda one: one.page.url):
        cut = _cut(cleaned(page, frame)) if isinstance(page, Page) else page
        # A page without text has no passage, yet keeps its state for the next run.
        body = packed(cut.passages)
        row = (index.next, cut.url, cut.title, cut.language, as_json(state), body)
        if cut.passages:
            db.execute("INSERT INTO page VALUES (?, ?, ?, ?, ?, ?)", row)
            index.add(cut)
    index.close()
    db.executemany("INSERT INTO problem VALUES (?, ?, ?)", sorted(run.problems))
    db.executemany("INSERT INTO frame VALUES (?)", [(line,) for line in sorted(frame.lines)])
    facts = {
        "made": run.made,
        "languages": " ".join(sorted(index.languages)),
        "passages": index.next - 1,
        "title_end": frame.title_end,
    }
    db.executemany("INSERT INTO meta VALUES (?, ?)", [(n, str(v)) for n, v in facts.items()])
    return Size(index.pages, index.next - 1, index.size, 0)


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


def _cut(page: Page) -> CutPage:
    cut = passages(page)
    language = page_language(page.language, "\n".join(one.text for one in cut))
    return CutPage(page.url, page.title, language, cut)


class _Index:
    """The rows of the index. A passage's id is its number in the file, from 1."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.next = 1
        self.pages = 0
        self.size = 0
        self.languages = set[str]()
        self._db = db
        self._frequency = Counter[str]()

    def add(self, page: CutPage) -> None:
        self.pages += 1
        self.languages.add(page.language)
        for passage in page.passages:
            headings = " ".join((*passage.headings, *passage.inside))
            fields = [terms(field, page.language) for field in (page.title, headings, passage.text)]
            own = (*passage.headings[-1:], *passage.inside)
            fields[0].append(whole_term(page.title, page.language))
            fields[1] += [whole_term(heading, page.language) for heading in own]
            row = (self.next, *(" ".join(field) for field in fields))
            self._db.execute(
                "INSERT INTO term (rowid, title, heading, body) VALUES (?, ?, ?, ?)", row
            )
            self._frequency.update({term for field in fields for term in field})
            self.size += len(passage.text.encode())
            self.next += 1

    def close(self) -> None:
        count = self.next - 1
        if count > MANY:
            least = min(FREQUENT, COMMON * count)
            often = [one for one in self._frequency.items() if one[1] > least]
            self._db.executemany("INSERT INTO frequent VALUES (?, ?)", sorted(often))
        self._db.execute("INSERT INTO term (term) VALUES ('optimize')")


class LastRun(NamedTuple):
    pages: Mapping[str, Learnt]
    """By address. All are a `CutPage`."""
    frame: Frame


def read_back(path: Path) -> LastRun:
    """What an older file holds, for a run that asks only for changed pages. Raises CannotRead."""
    with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
        check(db, str(path))
        rows = db.execute("SELECT source, title, language, state, passages FROM page").fetchall()
        lines = frozenset(line for (line,) in db.execute("SELECT line FROM frame"))
        end = db.execute("SELECT value FROM meta WHERE name = 'title_end'").fetchone()[0]
    pages = {
        source: Learnt(CutPage(source, title, language, unpacked(body)), json.loads(state))
        for source, title, language, state, body in rows
    }
    return LastRun(pages, Frame(lines, end))
