"""Takes the begins of pages out of the lists of them, such as the months and tags of a blog.

There a post stands under its title in each list, and all of these were found for one question.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from kefu.knowledge.pages import Block, PageText
from kefu.knowledge.terms import terms

LISTS = 2
"""The begin of a page stays if fewer pages have it: a chapter's first page names its sections."""

OWN_SHARE = 0.3
"""A page with a larger share of paragraphs of its own is no list, and keeps all."""

MIN_WORDS = 15
"""A shorter text below a page's title is no begin: in a list of products it is a price. A shorter
line below a begin belongs to it.
"""

SHARED = 0.7
"""The share of a begin, in runs of three words, that the page has. Date, tags and "Read more" may
be elsewhere.
"""

_DATE = re.compile(
    r"[^$€£¥₹]{0,20}((19|20)\d\d|\d月|\b[^\W\d]{3}\.? \d\d?\b|\b\d\d? [^\W\d]{3}\b)[^$€£¥₹]{0,20}"
)
"""With a year, or as "Jan 19". A number and a title, such as "2. Data model", is no date."""
_LONGEST_DATE = 4
"""Words."""

_Runs = frozenset[tuple[str, ...]]


def without_begins(pages: Sequence[PageText]) -> list[PageText]:
    """The pages without the sections that are the begin of a page with that title, where several
    pages have it. A page that had nothing else has no blocks then, nor has a bare list.
    """
    titled = defaultdict[str, list[PageText]](list)
    for page in pages:
        titled[page.title].append(page)
    runs = dict[str, _Runs]()
    begins = {
        page.url: list(_begins(page, titled, runs))
        for page in pages
        if any(one.level and one.text != page.title and one.text in titled for one in page.blocks)
    }
    lists = Counter(url for found in begins.values() for url in set(filter(None, found)))
    bare = _bare_lists(pages)
    return [
        page._replace(blocks=[])
        if page.url in bare
        else _without(page, begins[page.url], lists)
        if page.url in begins
        else page
        for page in pages
    ]


def _bare_lists(pages: Sequence[PageText]) -> set[str]:
    """The addresses of the pages that only list titles of pages and their dates, without the one of
    each language that is nearest to the root.
    """
    names = {page.title for page in pages}
    names |= {one.text for page in pages for one in page.blocks[:1] if one.level == 1}
    bare = [page for page in pages if _is_bare(page, names)]
    bare.sort(key=lambda one: (-one.url.count("/"), len(one.blocks)))
    kept = {page.language: page.url for page in bare}
    return {page.url for page in bare} - set(kept.values())


def _is_bare(page: PageText, names: Container[str]) -> bool:
    """A list of chapters has no dates, and stays."""
    lines = [one.text.removeprefix("- ") for one in page.blocks if one.text != page.title]
    found = [_title_and_date(line, names) for line in lines]
    titles, dates = (sum(one) for one in zip(*found, strict=True)) if found else (0, 0)
    others = [line for line, one in zip(lines, found, strict=True) if one == (False, False)]
    has_text = len(others) > OWN_SHARE * len(lines) or any(
        len(line.split()) >= MIN_WORDS for line in others
    )
    return 0 < titles <= dates and not has_text


def _title_and_date(line: str, names: Container[str]) -> tuple[bool, bool]:
    """Whether a line of a list is the title of a page, a date, or both."""
    if line in names:
        return True, False
    words = line.split()
    for at in range(1, min(_LONGEST_DATE + 1, len(words))):
        for title, date in ((words[at:], words[:at]), (words[:-at], words[-at:])):
            if " ".join(title) in names and _DATE.fullmatch(" ".join(date)):
                return True, True
    return False, len(words) <= _LONGEST_DATE and _DATE.fullmatch(line) is not None


def _without(page: PageText, begins: Sequence[str], lists: Mapping[str, int]) -> PageText:
    marked = zip(page.blocks, begins, strict=True)
    own = [block for block, begun in marked if lists.get(begun, 0) < LISTS]
    texts, of_own = (sum(not block.level for block in blocks) for blocks in (page.blocks, own))
    if of_own > OWN_SHARE * texts or len(own) == len(page.blocks):
        return page
    return page._replace(blocks=own if of_own else [])


def _begins(
    page: PageText, titled: Mapping[str, Sequence[PageText]], runs: dict[str, _Runs]
) -> Iterator[str]:
    """For each block the address of the page whose begin it belongs to, or "".

    A begin may have headings of its own. `runs`: those of pages, as far as they were needed.
    """
    begun: PageText | None = None
    for section in _sections(page):
        title = section[0].text if section[0].level else ""
        if title in titled and title != page.title:
            others = (one for one in titled[title] if one.url != page.url)
            begun = next((one for one in others if _is_begin(section, one, runs)), None)
        elif begun and not _has(begun, _runs(section), runs):
            begun = None
        for block in section:
            own = _runs([block]) if begun else frozenset()
            is_of = begun and (len(own) < MIN_WORDS or _has(begun, own, runs))
            yield begun.url if begun and is_of else ""


def _is_begin(section: Sequence[Block], page: PageText, runs: dict[str, _Runs]) -> bool:
    texts = [_runs([block]) for block in section]
    return sum(len(own) for own in texts if _has(page, own, runs)) >= MIN_WORDS


def _has(page: PageText, begin: _Runs, runs: dict[str, _Runs]) -> bool:
    if page.url not in runs:
        runs[page.url] = _runs(page.blocks)
    return bool(begin) and len(begin & runs[page.url]) >= SHARED * len(begin)


def _sections(page: PageText) -> Iterator[list[Block]]:
    """The blocks from each heading to the next; first those before any."""
    section = list[Block]()
    for block in page.blocks:
        if section and (block.level or block.apart):
            yield section
            section = []
        section.append(block)
    if section:
        yield section


def _runs(blocks: Iterable[Block]) -> _Runs:
    words = [word for block in blocks for word in terms(block.text, "")]
    return frozenset(zip(words, words[1:], words[2:], strict=False))
