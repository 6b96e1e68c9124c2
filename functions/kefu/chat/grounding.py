"""Answers from the site's own pages: passages in, checked citations out.

`kefu.chat.answer` asks a `Grounder` once for each question. Without learnt pages, this module is
not imported. The rules are added to the system message, the passages to the visitor's message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kefu.chat.completion import Question
from kefu.chat.output_filter import TextFilter
from kefu.chat.search_words import SearchWords
from kefu.chat.summaries import OnCall
from kefu.knowledge.citations import CitationFilter
from kefu.knowledge.finding import MAX_PASSAGES, Knowledge, PassageHit, fits_badly
from kefu.knowledge.follow_ups import follow_ups
from kefu.knowledge.sources import (
    RULES,
    RULES_FOR_JSON,
    RULES_WITH_TOOLS,
    Source,
    block,
    joined,
    lines,
    listed,
    parted,
    size,
    sources,
    without_list,
)
from kefu.knowledge.terms import language_told
from kefu.messages import Message
from kefu.visitor_texts import texts_in


class PassageBudget(NamedTuple):
    """The limit of the tokens of the passages in a request."""

    passages: int
    """At most."""
    window: int
    """Tokens of the prompt, passages included."""


class Grounder:
    """Finds the passages for a question."""

    def __init__(
        self,
        knowledge: Knowledge,
        room: PassageBudget,
        words: SearchWords | None = None,
        links: Sequence[str] = (),
    ) -> None:
        """`words` writes other words for questions whose own fit badly.

        `links`: the addresses that answers may link to, beside the pages.
        """
        self.links = links
        self._knowledge = knowledge
        self._room = room
        self._words = words

    async def ground(self, question: Question, on_call: OnCall, *, lists: bool) -> Grounding | None:
        """The passages for a question. `on_call` receives a call to the model for search words.

        None for a request that ends with the result of a tool: its question was asked before.
        `lists`: whether the answer ends with a list of the sources that it cites.
        """
        if question.messages[-1].role != "user":
            return None
        asked = [one.content for one in question.messages if one.role == "user"]
        last, before, words = asked[-1], asked[:-1], ""
        found = await self._knowledge.find(last, before, MAX_PASSAGES)
        languages = self._knowledge.languages
        if self._words and fits_badly(found, last, before, languages):
            words = await self._words.write(last, before, languages, on_call)
            if words:
                found = await self._knowledge.find(f"{last}\n{words}", before, MAX_PASSAGES)
        made = Grounding(found, last, self._room, words, self.links, lists=lists, before=before)
        made.for_json = question.wants_json
        return made

    async def more(self, words: str, grounding: Grounding) -> str:
        """Further passages for the model's own words, as lines of JSON; "" if there are none."""
        found = await self._knowledge.find(words, (), MAX_PASSAGES)
        return grounding.add(found)

    def checked_text(self, stored: str) -> str:
        """A stored answer with the links that this version allows."""
        text, cited = parted(stored)
        links = CitationFilter(cited, self.links)
        return joined(links.feed(text) + links.close(), cited)


class Grounding:
    """One answer's passages. Makes the filters of the answer, and collects the citations."""

    def __init__(
        self,
        found: Sequence[PassageHit],
        question: str,
        room: PassageBudget,
        words: str = "",
        links: Sequence[str] = (),
        *,
        lists: bool,
        before: Sequence[str] = (),
    ) -> None:
        """`words`: search words that the model wrote. `before`: the visitor's earlier questions."""
        self.found = list(found)
        self.links = links
        self._words = words
        self._room = room
        self._question = question
        self._before = before
        self._lists = lists
        self._filters: list[CitationFilter] = []
        self._filter: CitationFilter | None = None
        self.has_tools = False
        """Whether the model may also answer from results of tools."""
        self.for_json = False
        """Whether the answer is JSON, which has no place for the numbers of sources."""
        self._given: int | None = None
        """The number of passages in front of the question, once that is fixed."""

    @property
    def sources(self) -> Sequence[Source]:
        return sources(self.found)

    @property
    def used(self) -> Sequence[int]:
        """The numbers of the cited sources, in order; empty if the question was not answered."""
        return list(self._filter.used) if self._filter and self._filter.answered else []

    @property
    def cited(self) -> Sequence[Source]:
        """The sources that are cited, by number."""
        return [one for one in self.sources if one.number in self.used]

    @property
    def follow_ups(self) -> Sequence[str]:
        """What the visitor may ask next; nothing after an answer without a cited source."""
        return follow_ups(self.found, self.used, self._question, self._before)

    @property
    def answered(self) -> bool:
        """False when the model said that the passages do not answer the question."""
        return self._filter is None or self._filter.answered

    def add(self, found: Sequence[PassageHit]) -> str:
        """Add the passages that are new, which the answer may cite from now on."""
        known, first = {(one.page, one.text) for one in self.found}, len(self.found) + 1
        new = [one for one in found if (one.page, one.text) not in known]
        self.found += new
        for one in self._filters:
            one.allow(self.sources)
        return lines(new, first)

    def allow(self, links: Sequence[str]) -> None:
        """Let the rest of the answer link to more addresses."""
        self.links = [*self.links, *(one for one in links if one not in self.links)]
        for one in self._filters:
            one.allow((), links)

    def fit(self, tokens: int) -> None:
        """Leave out the worst passages that do not fit behind a prompt of so many tokens."""
        if self._given is not None:
            return
        room = min(self._room.passages, self._room.window - tokens)
        while self.found and sum(map(size, self.found)) > room:
            self.found.pop()
        self._given = len(self.found)

    def halve(self) -> bool:
        """Leave out half of the passages; False if there are none."""
        if not self.found or len(self.found) != self._given:
            return False
        del self.found[len(self.found) // 2 :]
        self._given = len(self.found)
        return True

    def messages(self, prompt: Sequence[Message]) -> list[Message]:
        """The prompt with the rules and the passages. Only the last message depends on pages."""
        rules = RULES_WITH_TOOLS if self.has_tools else RULES
        rules = RULES_FOR_JSON if self.for_json else rules
        system, rest = Message("system", rules), [_without_list(one) for one in prompt]
        if rest[0].role == "system" and not rest[0].summary:
            system = Message("system", f"{rest.pop(0).content}\n\n{rules}")
        # Behind the question are only the calls of its answer, which have further passages.
        last = max(at for at, one in enumerate(rest) if one.role == "user")
        given = self.found[: self._given]
        rest[last] = rest[last]._replace(content=block(given, rest[last].content))
        return [system, *rest]

    def counts(self) -> dict[str, object]:
        """For the log of requests: how many passages were given and cited."""
        given, cited = len(self.found), len(self.used)
        return {"passages": given, "cited": cited, "answered": self.answered}

    def facts(self) -> Mapping[str, object]:
        """For the log of calls: the passages that were given, and those that the answer cited."""
        passages = [
            {"n": n, "url": one.url or one.page, "title": one.title, "heading": one.heading}
            | {"score": one.score, "terms": one.matched}
            for n, one in enumerate(self.found, 1)
        ]
        facts = {"passages": passages, "used": list(self.used), "answered": self.answered}
        return facts | ({"words": self._words} if self._words else {})

    def filters(self, field: str) -> Sequence[TextFilter]:
        """The filters of a text field of the answer, which check its references."""
        made = CitationFilter(self.sources, self.links)
        self._filters.append(made)
        if field == "content":
            self._filter = made
        return (made,)

    def ending(self) -> str:
        """The text after a complete answer: the list of its sources, or a sentence after `[0]`."""
        if self._filter and not self.answered and not self._filter.started:
            pages = self.found[0].language if self.found else ""
            return texts_in(language_told(self._question) or pages).not_answered
        return listed(self.cited) if self._lists and self.used else ""


def _without_list(message: Message) -> Message:
    if message.role != "assistant":
        return message
    return message._replace(content=without_list(message.content))
