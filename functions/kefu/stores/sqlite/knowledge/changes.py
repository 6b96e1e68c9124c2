"""Notes beside the file of learnt pages when the text of each page last changed.

They are not in the file itself, whose bytes tell whether anything has changed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path

from kefu.stores.sqlite.knowledge.schema import CannotRead, check

_GONE_SECONDS = 90 * 86_400.0
"""Seconds for which a page that is gone is named."""

PageTexts = Mapping[str, object]
"""What answers can be made of, by the addresses of pages: equal for equal titles and passages."""


def page_texts(path: Path) -> PageTexts:
    """The texts in a file; none if it is missing or of another version."""
    found = dict[str, list[tuple[str, bytes]]]()
    if path.is_file():
        uri = f"{path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as db, suppress(CannotRead):
            check(db, str(path))
            rows = db.execute("SELECT source, title, passages FROM page ORDER BY first")
            for source, title, packed in rows:
                found.setdefault(source, []).append((title, packed))
    return {**found}


def changes(path: Path) -> dict[str, float]:
    """The Unix time in seconds at which each page changed or went, by address.

    Raises OSError without notes, and ValueError for damaged ones.
    """
    notes = _notes(path)
    if not notes.is_file():
        raise FileNotFoundError(f"{notes} does not exist: `kefu learn` writes it")
    return dict(json.loads(notes.read_text(encoding="utf-8")))


def note_changes(path: Path, last: PageTexts, now: float) -> None:
    """Compare the file with the texts that it had before, and write the notes. Raises OSError."""
    try:
        known = changes(path)
    except (FileNotFoundError, ValueError):
        known = {}
    new = page_texts(path)
    pages = new.keys() | last.keys()
    different = [source for source in pages if new.get(source) != last.get(source)]
    kept = {source: at for source, at in known.items() if source in new or at > now - _GONE_SECONDS}
    noted = {**kept, **dict.fromkeys(different, now)}
    _notes(path).write_text(json.dumps(noted, indent=0, sort_keys=True), encoding="utf-8")


def _notes(path: Path) -> Path:
    return path.with_name(f"{path.name}.changes")
