"""Checks learnt pages: asks each title and heading as a question, and looks for pages in doubt."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from kefu.knowledge.finding import PassageHit
from kefu.knowledge.frame import parted
from kefu.knowledge.learning import Learnt
from kefu.knowledge.lists import without_begins
from kefu.knowledge.pages import FiledPage, PageText, Passage
from kefu.knowledge.terms import terms, unnumbered
from kefu.knowledge.translations import groups

AMONG = 5
"""A page is found if it is among so many passages."""

MAX_LOST_SHARE = 0.03
"""A site with a larger share of pages that do not find themselves fails the check."""

NEAR_SHARE = 0.8
"""Pages with this share of their text in common are nearly equal."""

_OPENING_WORDS = 8
"""Words at the begin of a passage by which it is asked for, if no heading reached it."""
_MAX_HOLDERS = 20
"""Pages that have a line in common. A line of more pages does not make two of them equal."""
_SHORTEST_LINE = 20


class Doubt(NamedTuple):
    """Something to look at."""

    page: str
    """The address."""
    text: str
    pages: int = 1
    """The number of pages."""


class Findings(NamedTuple):
    pages: int
    lost: Sequence[Doubt]
    """Pages that are not found by their title."""
    headings: int
    missed: Sequence[Doubt]
    """Headings that do not find their page."""
    passages: int
    unreached: Sequence[Doubt]
    """Passages that neither a title, a heading nor their own first words find."""
    near: Sequence[Doubt]
    """Pages that are nearly equal to another one."""
    shared: Sequence[Doubt]
    """Lines of many pages that are kept once."""
    menus: Sequence[Doubt]
    """Lines of many pages that are left out as menus."""
    notes: Sequence[Doubt]
    """Parts that were left out, or that are shown by a click, and encodings."""

    @property
    def is_sound(self) -> bool:
        return len(self.lost) <= MAX_LOST_SHARE * self.pages


Find = Callable[[str, int], Sequence[PassageHit]]
"""The best passages for a question, at most so many."""


def check(parts: Sequence[FiledPage], pages: Sequence[Learnt], find: Find) -> Findings:
    """Check a file: its `parts`, its `pages` as they were read, and how it answers questions."""
    asking = _Interview(parts, find, groups(pages))
    lost, missed = asking.titles(), asking.headings()
    split = parted(one.page for one in pages)
    own = {one.url: {block.text for block in one.blocks} for one in split.own}
    kept = {block.text for page in split.shared for block in page.blocks}
    frame = _frame((one.page for one in pages), own)
    return Findings(
        len(asking.titles_by_source),
        lost,
        asking.asked_headings,
        missed,
        sum(len(one.passages) for one in parts),
        asking.unreached(),
        list(_near(without_begins(split.own))),
        [one for one in frame if one.text in kept],
        [one for one in frame if one.text not in kept],
        list(_notes(pages)),
    )


class _Interview:
    """Asks the file questions, and notes the passages that were found. A page is also found by its
    translation, of which a visitor gets the one in their language.
    """

    def __init__(
        self, parts: Sequence[FiledPage], find: Find, translations: Mapping[str, str]
    ) -> None:
        self._parts = parts
        self._find = find
        self._translations = translations
        self._reached = set[tuple[int, str]]()
        self._same = Counter(
            text for one in parts for text in {_key(name) for name in (one.title, *_headings(one))}
        )
        self.titles_by_source = {one.source: one.title for one in reversed(parts)}
        self.asked_headings = 0

    def titles(self) -> list[Doubt]:
        """The pages that their title does not find. A title of several pages is asked with the
        page's first heading or words.
        """
        asked = list[tuple[Doubt, str]]()
        for source, part in {one.source: one for one in reversed(self._parts)}.items():
            is_own = self._same[_key(part.title)] == 1
            more = "" if is_own else next(iter(_headings(part)), _opening(part.passages[0]))
            asked.append((Doubt(source, part.title), f"{part.title} {more}".strip()))
        return self._not_found(asked)

    def headings(self) -> list[Doubt]:
        """A heading of several pages is asked with the page's title."""
        asked = list[tuple[Doubt, str]]()
        for part in self._parts:
            for heading in _headings(part):
                is_own = self._same[_key(heading)] == 1
                question = heading if is_own else f"{part.title} {heading}"
                asked.append((Doubt(part.source, heading), question))
        self.asked_headings = len(asked)
        return self._not_found(asked)

    def unreached(self) -> list[Doubt]:
        asked = [
            ((part.number, one.text), Doubt(part.source, _opening(one)), part.title)
            for part in self._parts
            for one in part.passages
            if (part.number, one.text) not in self._reached
        ]
        self._not_found([(doubt, f"{title} {doubt.text}") for _, doubt, title in asked])
        return [doubt for passage, doubt, _ in asked if passage not in self._reached]

    def _not_found(self, asked: Sequence[tuple[Doubt, str]]) -> list[Doubt]:
        """The pages that their questions do not find."""
        doubts = list[Doubt]()
        for doubt, question in asked:
            found = self._find(question, AMONG)
            self._reached.update((one.part, one.text) for one in found)
            # A name of signs alone, such as "%", cannot be asked.
            pages = {self._group(one.page) for one in found}
            if terms(question, "") and self._group(doubt.page) not in pages:
                doubts.append(doubt)
        return doubts

    def _group(self, page: str) -> str:
        return self._translations.get(page, page)


def _key(text: str) -> str:
    return " ".join(unnumbered(text).casefold().split())


def _headings(part: FiledPage) -> Sequence[str]:
    names = (name for one in part.passages for name in (*one.headings[-1:], *one.inside))
    return list(dict.fromkeys(names))


def _opening(passage: Passage) -> str:
    words = passage.text.split(maxsplit=_OPENING_WORDS)[:_OPENING_WORDS]
    return " ".join(words)[: 8 * _OPENING_WORDS]


def _frame(pages: Iterable[PageText], own: Mapping[str, set[str]]) -> list[Doubt]:
    """The lines that were taken off pages, most frequent first."""
    places = defaultdict[str, list[str]](list)
    for page in pages:
        for text in dict.fromkeys(one.text for one in page.blocks if one.text):
            if text not in own.get(page.url, ()):
                places[text].append(page.url)
    found = [Doubt(urls[0], text, len(urls)) for text, urls in places.items()]
    return sorted(found, key=lambda one: -one.pages)


def _near(pages: Sequence[PageText]) -> Iterator[Doubt]:
    """Each page that has most of its text in common with a page before it."""
    lines = [{b.text for b in page.blocks if len(b.text) >= _SHORTEST_LINE} for page in pages]
    holders = defaultdict[str, list[int]](list)
    for number, texts in enumerate(lines):
        for text in texts:
            holders[text].append(number)
    common = Counter[tuple[int, int]]()
    for text, numbers in holders.items():
        if len(numbers) <= _MAX_HOLDERS:
            for pair in combinations(numbers, 2):
                common[pair] += len(text)
    for (one, other), size in sorted(common.items()):
        whole = sum(map(len, lines[one] | lines[other]))
        if size >= NEAR_SHARE * whole:
            yield Doubt(pages[other].url, f"{pages[one].url} ({size / whole:.0%} of the text)")


def _notes(pages: Iterable[Learnt]) -> Iterator[Doubt]:
    """Each note once, with the first page that has it."""
    places = defaultdict[str, list[str]](list)
    for page, state in pages:
        for note in dict.fromkeys(filter(None, str(state.get("notes", "")).split("\n"))):
            places[note].append(page.url)
    for note, urls in sorted(places.items()):
        yield Doubt(urls[0], note, len(urls))
