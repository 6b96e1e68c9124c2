"""Pages that were learnt after the file of learnt pages, one at a time, beside that file.

They lie in `site.kefu.fresh`, and take the place of the file's pages of the same addresses until
the next run of `kefu learn`. All processes of a machine look at it.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kefu.knowledge.finding import PassageHit, asked, chosen
from kefu.knowledge.pages import Block, PageText
from kefu.knowledge.terms import question_terms
from kefu.stores.sqlite.knowledge.read import KnowledgeFile

LEARNING_SECONDS = 1800.0
"""A run of `kefu learn` may have read a page so long before it wrote its file."""

MAX_FRESH_PAGES = 500
"""The newest pages that are kept."""


class FreshPage(NamedTuple):
    at: float
    """Unix time in seconds."""
    page: PageText
    """Without blocks: the page is gone."""


class FreshPages:
    """Methods block. One thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(f"{path.name}.fresh")
        self._version: tuple[int, float] | None = None
        self._pages = dict[str, FreshPage]()
        self._index: KnowledgeFile | None = None

    def add(self, page: PageText, now: float, made: float) -> None:
        """Keep a page. `made`: when the file was made. Raises OSError."""
        self.look(made)
        pages = {**self._pages, page.url: FreshPage(now, page)}
        newest = sorted(pages.values(), key=lambda one: one.at)[-MAX_FRESH_PAGES:]
        lines = "\n".join(json.dumps([at, *of]) for at, of in newest)
        handle, name = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(lines)
        Path(name).replace(self._path)

    def look(self, made: float) -> None:
        """Read the pages again if they changed, without those that a later run has read."""
        try:
            version = self._path.stat().st_mtime_ns, made
        except OSError:
            self._pages, self._index, self._version = {}, None, None
            return
        if version == self._version:
            return
        from kefu.stores.sqlite.knowledge.index import in_memory  # a cold start needs it rarely

        rows = map(json.loads, self._path.read_text(encoding="ascii").splitlines())
        found = (
            FreshPage(at, PageText(url, title, [Block(*one) for one in blocks], language))
            for at, url, title, blocks, language in rows
        )
        self._pages = {one.page.url: one for one in found if one.at > made - LEARNING_SECONDS}
        pages = [one.page for one in self._pages.values() if one.page.blocks]
        self._index = KnowledgeFile(self._path, in_memory(pages)) if pages else None
        self._version = version

    def find(
        self, file: KnowledgeFile, question: str, before: Sequence[str], limit: int
    ) -> list[PassageHit]:
        """The passages of `KnowledgeFile.find`. A fresh one stands before those that have fewer
        terms of the question: the scores of two indexes cannot be compared.
        """
        self.look(file.facts.made)
        if not self._pages:
            return file.find(question, before, limit)
        stored = file.find(question, before, limit + 2 * len(self._pages))
        found = [one for one in stored if one.page not in self._pages]
        fresh = self._index.find(question, before, limit) if self._index else []
        if not fresh:
            return found[:limit]
        wanted = question_terms(asked(question, before), file.languages)
        ranked = [(len(one.terms), one) for one in found]
        for one in reversed(fresh):
            hit = one._replace(part=-one.part, wanted=wanted)
            count = len(hit.terms)
            places = (at for at, (terms, _) in enumerate(ranked) if terms < count)
            ranked.insert(next(places, len(ranked)), (count, hit))
        return chosen((one for _, one in ranked), limit)

    def page(self, file: KnowledgeFile, address: str) -> list[PassageHit]:
        self.look(file.facts.made)
        if address.partition("#")[0] in self._pages:
            return self._index.page(address) if self._index else []
        return file.page(address)
