"""Takes the frame off the pages of a site: the lines that many pages share, such as menus.

Shared lines that are no menu, such as a phone number, are kept once, as a page of their own. Those
within the text of a page stay there, and at its end those that differ from page to page.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from math import ceil
from typing import NamedTuple
from urllib.parse import urlsplit

from kefu.knowledge.pages import Block, PageText
from kefu.knowledge.terms import language_of, terms
from kefu.visitor_texts import texts_in

FRAME_SHARE = 0.3
"""A line on more than this share of the pages belongs to the frame."""

END_SHARE = 0.9
"""A line does not differ among the pages that go on alike if this share of them have it there."""

FARTHEST_STOCK = 8
"""The most lines from a page's own text to a line in whose place other pages have others. Farther
down is the column beside a blog's posts, which is another on its lists of posts.
"""

LONGEST_STOCK = 5
"""Terms of a line that says whether a product is in stock."""

MIN_PAGES = 5
"""On a site with fewer pages, repeated lines of the main part do not belong to the frame."""

_PRICE = re.compile(
    r"(?:[$€£¥₩₹₽₺₫฿]|\b(?:CHF|EUR|GBP|USD)\b)\s*\d"
    r"|\d\s*(?:[$€£¥₩₹₽₺₫฿元円원]|(?:CHF|EUR|GBP|USD|kr|zł|Kč|Ft|lei)\b)"
)
_TITLE_ENDS = (" | ", " - ", " – ", " — ", " · ", "_", " [")


class Parted(NamedTuple):
    own: Sequence[PageText]
    """The pages without the frame, by address. Some may have no text left."""
    shared: Sequence[PageText]
    """One page for each site and language, with the lines of the frame that are no menu."""


class _Frame(NamedTuple):
    lines: frozenset[str]
    """Short hashes of the lines."""
    menu: frozenset[str]
    """The lines that are links on most pages. A menu often shows its own page without a link."""
    title_end: str
    """The text that most titles end with, such as " | Example"."""
    main_stays: bool
    differing: frozenset[str]
    """The ends of main parts whose first line differs among the pages that go on alike."""

    def has(self, block: Block) -> bool:
        is_shared = _hash(block.text) in self.lines and not block.apart
        return is_shared and (block.outside or not self.main_stays)

    def is_menu(self, block: Block) -> bool:
        return _hash(block.text) in self.menu


def parted(pages: Iterable[PageText]) -> Parted:
    """The pages without their sites' frames, and the frames.

    The result depends only on the pages as they were read. So a run that reads only the changed
    pages of a site gives the same as one that reads all.
    """
    sites = defaultdict[str, list[PageText]](list)
    for page in sorted(pages, key=lambda one: one.url):
        sites[_site(page.url)].append(page)
    own, shared = list[PageText](), list[PageText]()
    for site in sites.values():
        frame = _frame_of(site)
        cleaned = [_cleaned(page, frame) for page in site]
        if any(page.blocks for page in cleaned):
            own += cleaned
            shared += _shared(site, frame, _start(page for page in cleaned if page.blocks))
        else:
            own += site
    return Parted(sorted(own, key=lambda one: one.url), shared)


def _frame_of(site: Sequence[PageText]) -> _Frame:
    few = len(site) < MIN_PAGES
    counts, links = Counter[str](), Counter[str]()
    for page in site:
        here = {_hash(one.text): one.linked for one in page.blocks if one.outside or not few}
        counts.update(here.keys())
        links.update(line for line, linked in here.items() if linked)
    most = 1 if few else max(2, ceil(FRAME_SHARE * len(site)))
    lines = {one for one, n in counts.items() if n > most or (few and links[one] == n)}
    menu = {one for one in lines if 2 * links[one] > counts[one]}
    ends = Counter(_end(page.title) for page in site)
    end, count = min(ends.items(), key=lambda one: (-one[1], one[0]))
    common = "" if few or count <= len(site) / 2 else end
    frame = _Frame(frozenset(lines), frozenset(menu), common, few, frozenset())
    return frame._replace(differing=frozenset(_differing(site, frame)))


def _differing(site: Sequence[PageText], frame: _Frame) -> Iterator[str]:
    """A line that differs is a price, or in its place stand few other lines on many pages, such as
    "Out of stock". The end of some pages is no such line if the others end with their own text.
    A line of nearly all pages is one if another page has it in other words, such as "In stock".
    """
    below = defaultdict[str, Counter[str]](Counter)
    for page in site:
        for at, end in _ends(page, frame):
            below[end][page.blocks[at].text] += 1
    for end, lines in below.items():
        count = lines.total()
        for line, here in lines.items():
            others = count - here
            is_choice = 2 * (len(lines) - 1) <= others
            if here >= END_SHARE * count:
                differs = any(_are_alike(line, one) for one in lines if one != line)
            else:
                differs = is_choice or _PRICE.search(line) is not None
            if differs:
                yield _hash(f"{end} {line}")


def _are_alike(line: str, other: str) -> bool:
    """Whether two short lines end with the same word, such as "In stock" and "Out of stock"."""
    one, two = terms(line, ""), terms(other, "")
    return one[-1:] == two[-1:] != [] and max(len(one), len(two)) <= LONGEST_STOCK


def _ends(page: PageText, frame: _Frame) -> Iterator[tuple[int, str]]:
    """The places of the main part's lines from its last one up to the last that is not shared, each
    with a hash of all below it. Menus do not count, and languages differ.
    """
    end = language_of(page.language)
    for at, block in reversed(list(enumerate(page.blocks))):
        if not (block.outside or frame.is_menu(block)):
            yield at, end
            if not frame.has(block):
                return
            end = _hash(f"{end} {block.text}")


def _cleaned(page: PageText, frame: _Frame) -> PageText:
    title = page.title
    if frame.title_end and title.endswith(frame.title_end):
        title = title[: -len(frame.title_end)].strip()
    blocks = [block for block, own in zip(page.blocks, _own(page, frame), strict=True) if own]
    return page._replace(title=title or page.title, blocks=blocks)


def _own(page: PageText, frame: _Frame) -> Sequence[bool]:
    """Whether each line is the page's own. In the main part so is a shared line between two of
    them, below a heading of them, or with other lines in its place on other pages: many products
    have the same price.
    """
    own = [not frame.has(block) for block in page.blocks]
    main = [at for at, block in enumerate(page.blocks) if own[at] and not block.outside]
    last = main[-1] + (page.blocks[main[-1]].level > 0) if main else 0
    for at, end in _ends(page, frame):
        is_near = at - last <= FARTHEST_STOCK
        if is_near and _hash(f"{end} {page.blocks[at].text}") in frame.differing:
            last = max(last, at)
            break
    for at in range(main[0], min(last + 1, len(own))) if main else ():
        block = page.blocks[at]
        own[at] = own[at] or not (block.outside or frame.is_menu(block))
    return own


def kept_once(page: PageText, pages: Iterable[PageText]) -> Sequence[Block]:
    """The lines of a page that are kept once for the whole site, of which `pages` has all pages."""
    site = [one for one in pages if _site(one.url) == _site(page.url)]
    return list(_kept(page, _frame_of(site)))


def _shared(site: Sequence[PageText], frame: _Frame, start: str) -> Iterator[PageText]:
    """The lines of the start page come first, then the other pages' lines by address."""
    languages = defaultdict[str, list[Block]](list)
    seen = set[str]()
    for page in sorted(site, key=lambda one: one.url != start):
        for block in _kept(page, frame):
            if block.text not in seen:
                seen.add(block.text)
                languages[language_of(page.language)].append(Block(block.text, block.level))
    for language, blocks in languages.items():
        yield PageText(start, texts_in(language).every_page, blocks, language)


def _kept(page: PageText, frame: _Frame) -> Iterator[Block]:
    """A heading is kept with the line below it only."""
    own = zip(page.blocks, _own(page, frame), strict=True)
    kept = [not (mine or frame.is_menu(block)) for block, mine in own]
    for block, here, below in zip(page.blocks, kept, [*kept[1:], False], strict=True):
        if here and (below or not block.level):
            yield block


def _site(url: str) -> str:
    """The host of a page; empty for a file."""
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def _start(pages: Iterable[PageText]) -> str:
    """The address of the page nearest to the root."""

    def distance(url: str) -> tuple[int, bool, int, str]:
        name = url.rpartition("/")[2]
        return url.count("/"), not name.startswith(("index.", "README")), len(url), url

    return min((page.url for page in pages), key=distance)


def _hash(line: str) -> str:
    return blake2b(line.encode(errors="replace"), digest_size=8).hexdigest()


def _end(title: str) -> str:
    at = max(title.rfind(mark) for mark in _TITLE_ENDS)
    return title[at:] if at > 0 else ""
