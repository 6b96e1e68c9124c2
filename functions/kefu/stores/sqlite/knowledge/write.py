"""Writes the file of learnt pages: under another name, which replaces the old file when
complete.
"""

from __future__ import annotations

import contextlib
import glob
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from kefu.knowledge.distinct import distinct
from kefu.knowledge.frame import parted
from kefu.knowledge.learning import Learnt
from kefu.knowledge.lists import without_begins
from kefu.knowledge.translations import groups
from kefu.stores.sqlite.knowledge.index import Index
from kefu.stores.sqlite.knowledge.packed import packed_pages, unpacked
from kefu.stores.sqlite.knowledge.schema import MEANING, CannotRead, check, create, meaning_of

PAGE_BYTES = 2048
"""Of the file. SQLite's 4096 make the file of a small site 6 % larger, and no question faster."""

KILLED_SECONDS = 86_400.0
"""A file beside the learnt pages that is older was left by a killed run."""

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
    left_out: Mapping[str, str] = MappingProxyType({})
    """The pages that have no text of their own, each with the reason."""
    lost_meaning: bool = False
    """Whether the file that was replaced had numbers for the meaning of passages."""


def write(path: Path, run: Run, meaning: Meaning | None = None) -> Size:
    """Replace the file. A killed process leaves the old file or the new file, never half a file.

    Equal pages give equal bytes with the same version of SQLite. Raises OSError, sqlite3.Error.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lost = meaning is None and _had_meaning(path)
    with _beside(path, run.made) as new:
        with contextlib.closing(sqlite3.connect(new, isolation_level=None)) as db:
            db.execute(f"PRAGMA page_size = {PAGE_BYTES}")
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
        size = size._replace(file=new.stat().st_size, lost_meaning=lost)
        new.replace(path)
        _flush(path.parent)
    return size


@contextlib.contextmanager
def _beside(path: Path, now: float) -> Iterator[Path]:
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.new"):
        with contextlib.suppress(OSError):
            if now - left.stat().st_mtime > KILLED_SECONDS:
                left.unlink()
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
    own, same = distinct(without_begins(own))
    index = Index(db)
    left_out = {url: f"is the same page as {kept}" for url, kept in same.items()}
    left_out |= {page.url: NOTHING_OWN for page in own if not index.add(page)}
    count = index.pages
    for page in shared:
        index.add(page)
    index.close(run.made)
    db.executemany("INSERT INTO translation VALUES (?, ?)", sorted(groups(pages).items()))
    added = (PageProblem(url, "skipped", reason) for url, reason in left_out.items())
    problems = [*run.problems, *added]
    db.executemany("INSERT INTO problem VALUES (?, ?, ?)", sorted(problems))
    return Size(count, index.next - 1, index.size, 0, left_out)


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


def _had_meaning(path: Path) -> bool:
    if not path.is_file():
        return False
    with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
        try:
            return bool(meaning_of(db))
        except sqlite3.DatabaseError:
            return False


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
