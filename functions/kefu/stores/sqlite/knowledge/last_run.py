"""Reads the pages of the last run from the file of learnt pages."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from kefu.knowledge.learning import Learnt
from kefu.knowledge.pages import Block, PageText, Passage
from kefu.stores.sqlite.knowledge.packed import unpacked, unpacked_pages
from kefu.stores.sqlite.knowledge.schema import SCHEMA_VERSION, check


def read_back(path: Path) -> dict[str, Learnt]:
    """The pages of an older file by address, for a run that asks only for changed pages.

    Raises CannotRead.
    """
    with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
        check(db, str(path))
        if db.execute("PRAGMA user_version").fetchone()[0] < SCHEMA_VERSION:
            return _converted(db)
        data = db.execute("SELECT pages FROM whole").fetchone()[0]
    return {one.page.url: one for one in unpacked_pages(data)}


def _converted(db: sqlite3.Connection) -> dict[str, Learnt]:
    """The pages of a file without whole pages. All these pages are read again; this text is used
    only for pages that fail.
    """
    rows = db.execute("SELECT source, title, language, passages FROM page")
    return {
        url: Learnt(PageText(url, title, list(_blocks(unpacked(body))), language), {})
        for url, title, language, body in rows
    }


def _blocks(cut: Iterable[Passage]) -> Iterator[Block]:
    for one in cut:
        yield from (Block(text, min(6, at), one.anchor) for at, text in enumerate(one.headings, 2))
        yield Block(one.text)
