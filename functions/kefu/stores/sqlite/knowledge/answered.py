"""The learnt pages with the answers of people, as one source of passages.

The answers are few, so each process has an index of all of them in memory, with the tables of a
file of learnt pages: an answer is found by the same rules as a page, on each engine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kefu.errors import StoreUnavailable
from kefu.knowledge.finding import PassageHit
from kefu.knowledge.pages import page_id

if TYPE_CHECKING:
    from kefu.sessions.store.answers import AnswerStore, WrittenAnswer
    from kefu.stores.sqlite.knowledge.read import KnowledgeFile
    from kefu.stores.sqlite.knowledge.reloading import ReloadingKnowledge

LOOK_AFTER = 1.0
"""Seconds between two looks for changed answers."""

PATIENCE_SECONDS = 1.5
"""Seconds that a question waits for changed answers; then those from before are used."""

MAX_FOUND = 8
"""Passages of answers that are considered for a question."""


class _Answers(NamedTuple):
    """The answers of one version, with their index."""

    by_id: dict[str, WrittenAnswer]
    file: KnowledgeFile
    """In memory."""


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
        self._answers: _Answers | None = None
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
        from kefu.sessions.people.answers import as_source

        # In a thread, as the search in the pages.
        hits = await asyncio.to_thread(answers.file.find, question, before, MAX_FOUND)
        sources = [as_source(one, answers.by_id[one.page]) for one in hits]
        return with_answers(question, before, sources, found, limit)

    async def page(self, address: str) -> Sequence[PassageHit]:
        """All passages of a page, or of an answer by the `page_id` of a found passage."""
        if found := await self._pages.page(address):
            return found
        answers = await self._current()
        if answers is None:
            return ()
        from kefu.sessions.people.answers import as_source, place_of

        ids = {page_id(place_of(id)): id for id in answers.by_id}
        if address not in ids:
            return ()
        hits = await asyncio.to_thread(answers.file.page, ids[address])
        return [as_source(one, answers.by_id[one.page]) for one in hits]

    async def _current(self) -> _Answers | None:
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
        self._answers = await asyncio.to_thread(_indexed, own) if own else None
        self._version = version


def _indexed(answers: Sequence[WrittenAnswer]) -> _Answers:
    # Imported here: a service without answers needs neither Markdown nor an index in memory.
    from kefu.sessions.people.answers import as_page
    from kefu.stores.sqlite.knowledge.index import in_memory
    from kefu.stores.sqlite.knowledge.read import KnowledgeFile

    by_id = {one.id: one for one in answers}
    return _Answers(by_id, KnowledgeFile(Path("answers"), in_memory(map(as_page, answers))))
