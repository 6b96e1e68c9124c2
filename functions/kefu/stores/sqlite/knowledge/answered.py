"""The learnt pages with the answers of people, as one source of passages.

The answers are few, so each process has an index of all of them in memory, with the tables of a
file of learnt pages: an answer is found by the same rules as a page, on each engine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kefu.errors import StoreUnavailable
from kefu.knowledge.finding import PassageHit
from kefu.knowledge.pages import page_id

if TYPE_CHECKING:
    from kefu.sessions.store.answers import AnswerStore, WrittenAnswer
    from kefu.stores.sqlite.knowledge.reloading import ReloadingKnowledge

LOOK_AFTER = 1.0
"""Seconds between two looks for changed answers."""

PATIENCE_SECONDS = 1.5
"""Seconds that a question waits for changed answers; then those from before are used."""

MAX_FOUND = 8
"""Passages of answers that are considered for a question."""


class AnswerIndex:
    """The answers of one version, found as pages are. Methods block."""

    def __init__(self, answers: Sequence[WrittenAnswer]) -> None:
        # Imported here: a service without answers needs neither Markdown nor an index in memory.
        from kefu.sessions.people.answers import as_page
        from kefu.stores.sqlite.knowledge.index import in_memory
        from kefu.stores.sqlite.knowledge.read import KnowledgeFile

        self._by_id = {one.id: one for one in answers}
        self._file = KnowledgeFile(Path("answers"), in_memory(map(as_page, answers)))

    def __del__(self) -> None:
        # Not when it is replaced: a search may still run in it.
        self._file.close()

    def find(self, question: str, before: Sequence[str]) -> list[PassageHit]:
        """The passages for a question, best first, as sources."""
        return self._sources(self._file.find(question, before, MAX_FOUND))

    def page(self, address: str) -> list[PassageHit]:
        """All passages of an answer, by the `page_id` of a found passage; else none."""
        from kefu.sessions.people.answers import place_of

        ids = {page_id(place_of(id)): id for id in self._by_id}
        return self._sources(self._file.page(ids[address])) if address in ids else []

    def _sources(self, found: Sequence[PassageHit]) -> list[PassageHit]:
        from kefu.sessions.people.answers import as_source

        return [as_source(one, self._by_id[one.page]) for one in found]


class AnsweredPages:
    """Implements `Knowledge`, and the pages that assistants search."""

    def __init__(
        self,
        pages: ReloadingKnowledge,
        store: AnswerStore,
        monotonic: Callable[[], float],
        site: str = "",
    ) -> None:
        """`site`: only the answers of this site are used."""
        self._pages = pages
        self._store = store
        self._monotonic = monotonic
        self._site = site
        self._answers: AnswerIndex | None = None
        self._version: int | None = None
        self._looked = float("-inf")
        self._looking: asyncio.Task[None] | None = None

    @property
    def languages(self) -> Sequence[str]:
        return self._pages.languages

    def prefetch(self) -> None:
        """Start to look for changed answers, if that is due."""
        now = self._monotonic()
        is_idle = self._looking is None or self._looking.done()
        if is_idle and now >= self._looked + LOOK_AFTER:
            self._looked = now
            self._looking = asyncio.create_task(self._look())

    def changed(self) -> None:
        """Look at the next question, because this process has changed an answer."""
        self._looked, self._looking = float("-inf"), None

    async def find(self, question: str, before: Sequence[str], limit: int) -> Sequence[PassageHit]:
        found, answers = await asyncio.gather(
            self._pages.find(question, before, limit), self._current()
        )
        if answers is None:
            return found
        from kefu.knowledge.answers import with_answers

        # In a thread, as the search in the pages.
        sources = await asyncio.to_thread(answers.find, question, before)
        return with_answers(question, before, sources, found, limit)

    async def page(self, address: str) -> Sequence[PassageHit]:
        """All passages of a page, or of an answer by the `page_id` of a found passage."""
        if found := await self._pages.page(address):
            return found
        answers = await self._current()
        return await asyncio.to_thread(answers.page, address) if answers else ()

    async def _current(self) -> AnswerIndex | None:
        """The answers; None if there are none. Those from before while the store is away."""
        self.prefetch()
        if self._looking:
            await asyncio.wait({self._looking}, timeout=PATIENCE_SECONDS)
        return self._answers

    async def _look(self) -> None:
        try:
            version = await self._store.answers_version()
            if version == self._version:
                return
            stored = await self._store.answers() if version else ()
        except StoreUnavailable:
            return  # the store's guard has logged the reason
        own = [one for one in stored if one.site == self._site]
        self._answers = await asyncio.to_thread(AnswerIndex, own) if own else None
        self._version = version
