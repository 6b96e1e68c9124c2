"""The report of a run of `kefu learn`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from kefu.knowledge.pages import PageText

State = Mapping[str, str | int]
"""Facts about a page for the next run, such as its ETag, and its links, one on each line."""

TRANSLATIONS = "translations"
"""The name of the note of a page's addresses in all languages, one on each line."""

READER_VERSION = 9
"""The version of how pages are read. A page that another version read is read again."""

NO_STATE: State = MappingProxyType({})

Kind = Literal["learnt", "unchanged", "kept", "skipped", "failed"]
"""`kept`: the page could not be read, and its text of the last run is used."""


class Learnt(NamedTuple):
    """A page as it was read, with the data that the next run needs to learn whether it changed."""

    page: PageText
    state: State


class PageOutcome(NamedTuple):
    """The outcome of one address."""

    url: str
    kind: Kind
    reason: str = ""
    page: PageText | None = None
    state: State = NO_STATE
    status: int = 0
    """The HTTP status of a page that failed."""


class LearningReport(NamedTuple):
    outcomes: Sequence[PageOutcome]
    before: int
    """Pages of the last run."""
    bodies: int
    """The number of responses whose body was read."""
    passages: int = 0
    file: int = 0
    """Bytes of the file that was written; 0 when none was."""
    lost_meaning: bool = False
    """Whether the last file had numbers for the meaning of passages, and this one has none."""

    @property
    def pages(self) -> int:
        return sum(one.kind in {"learnt", "unchanged", "kept"} for one in self.outcomes)

    @property
    def is_too_small(self) -> bool:
        """Whether so many pages are missing that the file of the last run is better."""
        return self.pages * 2 < self.before
