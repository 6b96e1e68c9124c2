"""Reads the session logs that earlier versions of `kefu chat` could store in an SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path

from kefu.agent.events import Log, read_lines
from kefu.errors import HistoryUnavailable


def logs_in_database(file: Path) -> Sequence[Log]:
    """Raises HistoryUnavailable. The file is not changed; a service may use it, too."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True)) as db:
            rows = db.execute("SELECT session, line FROM event_lines ORDER BY session, number")
            sessions = groupby(rows, key=lambda row: str(row[0]))
            return [read_lines(bytes(line) for _, line in lines) for _, lines in sessions]
    except sqlite3.DatabaseError as error:
        raise HistoryUnavailable(f"{file}: {error}") from error
