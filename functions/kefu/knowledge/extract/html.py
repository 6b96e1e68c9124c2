"""Reads an HTML page in steps: hidden parts are removed, blocks are read, structured data is added.

The text was decoded before (`encoding`). The frame of the site is taken off when all of its pages
are known (`kefu.knowledge.frame`), and the blocks are then cut (`kefu.knowledge.passages`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser

from kefu.knowledge.extract.blocks import FRAME, SPACE, absolute, is_own, read_blocks
from kefu.knowledge.extract.json_ld import Json, objects, read_facts, read_questions
from kefu.knowledge.extract.spans import repeat_cells
from kefu.knowledge.extract.unseen import remove_unseen
from kefu.knowledge.pages import Block, PageText

_MOUNTS = "#root, #app, #__next, #__nuxt, #app-root, #svelte, app-root"
"""Elements into which scripts put the text of a page."""
_TEXTS = "main, article, p, li, h1, h2, h3, h4, h5, h6, td, dd, dt, pre, blockquote, address"
_TOOLS = (
    ".mediawiki :is(li[id^=ca-], li[id^=pt-], li[id^=t-], .mw-editsection, .printfooter) a,"
    " .mediawiki [href*='redlink=1'], .mediawiki [href*='redirect=no'],"
    " .mediawiki [href*='returnto=']"
)
"""MediaWiki's links to the form, history, versions and backlinks of each page, to missing pages,
redirects and the sign-in.
"""
_LINKS = f"a[href]:not([rel~=nofollow i], {_TOOLS})"
_NEWEST = ".theme-doc-version-banner a[href]"
"""The link of Docusaurus from a page of an old or a coming version to the one of today."""
_LOCKED = "main input[type=password], [role=main] input[type=password]"
_REFRESH = re.compile(r"\s*\d+(?:\.\d*)?\s*[;,]\s*(?:url\s*=\s*)?[\"']?([^\"']+)", re.IGNORECASE)

SIGN_IN_BYTES = 600
"""Bytes. A page with a field for a password and less text is a sign-in."""

LOADING_TEXT_BYTES = 80
"""Bytes of a text such as "Loading, please wait"."""


class Html(NamedTuple):
    page: PageText
    canonical: str = ""
    """The address that the page names as its own, or as its newest version; empty when it names
    none.
    """
    indexed: bool = True
    """False when the page asks not to be indexed."""
    links: tuple[str, ...] = ()
    """Absolute addresses without fragments, in order. Links with `rel=nofollow` are left out, such
    as those that put a product into the cart, and the tools of a wiki, and all of a page that asks
    not to follow them.
    """
    asks_for_login: bool = False
    needs_script: bool = False
    """Whether the page has no text without its scripts."""
    notes: tuple[str, ...] = ()
    """What an owner may want to check: parts that were left out, and parts that a click shows."""
    refresh: str = ""
    """The address to which `meta http-equiv=refresh` leads."""
    translations: tuple[str, ...] = ()
    """The absolute addresses of the page in all languages, as its `hreflang` links name them."""


def read_html(html: str | bytes, url: str) -> Html:
    tree = LexborHTMLParser(html)
    head, data = _Head(tree, url), list(objects(tree))
    canonical, robots = head.canonical(), head.robots()
    links = head.links() if may_be_followed(robots) else ()
    refresh, translations = head.refresh(), head.translations()
    login, locked = (tree.css_first(one) is not None for one in ("input[type=password]", _LOCKED))
    has_script = head.has_script()
    notes = remove_unseen(tree)
    repeat_cells(tree)
    blocks = _without_contents(list(read_blocks(tree, head.base)))
    seen = len(blocks)
    blocks += _structured(data, blocks, head)
    headings = sorted((one for one in blocks if one.level), key=lambda one: one.outside)
    title = head.title or (headings[0].text if headings else "")
    page = PageText(url, title, blocks, head.language)
    counted = (one for one in blocks if not (locked and one.outside))
    size = sum(len(one.text.encode(errors="replace")) for one in counted)
    waits = has_script and seen == len(blocks) and (not blocks or _waits(tree, blocks))
    login = login and size < SIGN_IN_BYTES
    indexed, noted = may_be_indexed(robots), tuple(notes)
    return Html(page, canonical, indexed, links, login, waits, noted, refresh, translations)


class _Head:
    def __init__(self, tree: LexborHTMLParser, url: str) -> None:
        self._tree = tree
        base = tree.css_first("base[href]")
        self.url = url
        self.base = absolute(url, (base.attributes.get("href") or "") if base else "") or url
        # Older generators of documentation name the language in the body alone.
        named = tree.css_first("html[lang], body[lang]")
        self.language = ((named.attributes["lang"] or "") if named else "").strip()
        title = tree.css_first("head > title") or tree.css_first("title")
        self.title = SPACE.sub(" ", title.text()).strip() if title else ""

    def canonical(self) -> str:
        canonical = self._tree.css_first("link[rel~=canonical][href]")
        link = self._tree.css_first(_NEWEST) or canonical
        return (absolute(self.base, link.attributes["href"] or "") or "") if link else ""

    def translations(self) -> tuple[str, ...]:
        nodes = self._tree.css("link[rel~=alternate][hreflang][href]")
        found = (absolute(self.base, node.attributes["href"] or "") for node in nodes)
        return tuple(dict.fromkeys(one.partition("#")[0] for one in found if one))

    def refresh(self) -> str:
        tag = self._tree.css_first("head > meta[http-equiv=refresh i]")
        found = _REFRESH.match((tag.attributes.get("content") or "") if tag else "")
        return (absolute(self.base, found[1]) or "").partition("#")[0] if found else ""

    def has_script(self) -> bool:
        """Whether a script of the site itself could write the page's text."""
        return any(
            "json" not in (node.attributes.get("type") or "")
            and is_own(self.url, node.attributes.get("src") or "")
            for node in self._tree.css("script")
        )

    def robots(self) -> str:
        tags = self._tree.css("meta[name=robots i], meta[name=kefu i]")
        return " ".join((tag.attributes.get("content") or "") for tag in tags)

    def links(self) -> tuple[str, ...]:
        found = dict[str, None]()
        for node in self._tree.css(_LINKS):
            named = node.attributes
            target = absolute(self.base, named.get("href") or named.get("xlink:href") or "")
            if target:
                found[target.partition("#")[0]] = None
        return tuple(found)


def _without_contents(blocks: Sequence[Block]) -> list[Block]:
    """The blocks without a list of contents: its links repeat the headings of the page. A title
    above nothing else, such as "On this page", is left out with it.
    """
    headings = {one.text for one in blocks if one.level}
    kept = list[Block]()
    above = 0
    """The number of blocks that were kept before the last list of contents."""
    for one in (*blocks, Block("", 1)):
        if not one.level and one.linked and one.text.removeprefix("- ") in headings:
            above = len(kept)
            continue
        if one.level and above == len(kept) > 0 and kept[-1].level >= max(one.level, 2):
            kept.pop()
        kept.append(one)
    return kept[:-1]


def may_be_indexed(directives: str) -> bool:
    """Whether the robots directives of a page, from its `meta` or its header, allow to learn it."""
    return not _say(directives, "noindex")


def may_be_followed(directives: str) -> bool:
    """Whether the robots directives of a page allow to follow its links."""
    return not _say(directives, "nofollow")


def _say(directives: str, one: str) -> bool:
    # `max-image-preview:none` is about pictures alone.
    found = re.search(rf"(?<!preview:)(?<!preview: )\b({one}|none)\b", directives.lower())
    return found is not None


def _structured(data: Sequence[Json], blocks: Sequence[Block], head: _Head) -> Iterator[Block]:
    """Questions and facts of JSON-LD that the page does not show."""
    questions = list(_questions(data, head.base))
    known = {one.text for one in blocks}
    if not known.intersection(one.text for one in questions if one.level):
        yield from questions
    text = "\n".join(known)
    for name, facts in read_facts(data, head.language):
        new = [fact for fact in dict.fromkeys(facts) if fact.value not in text]
        text = "\n".join((text, *(fact.value for fact in new)))
        if new and name and name not in known and name != head.title:
            yield Block(name, 2)
        yield from (Block(f"{fact.name}: {fact.value}") for fact in new)


def _questions(data: Sequence[Json], base: str) -> Iterator[Block]:
    for name, answer in read_questions(data):
        yield Block(" ".join(one.text for one in _fragment(name, base)), 2)
        yield from _fragment(answer, base)


def _fragment(html: str, base: str) -> Iterator[Block]:
    tree = LexborHTMLParser(html)
    remove_unseen(tree)
    yield from read_blocks(tree, base)


def _waits(tree: LexborHTMLParser, blocks: Sequence[Block]) -> bool:
    """Whether a page has only a place for text. The tree cannot be used afterwards."""
    size = sum(len(one.text.encode(errors="replace")) for one in blocks if not one.outside)
    if size >= LOADING_TEXT_BYTES or tree.css_first(_MOUNTS) is None:
        return False
    for node in tree.css(FRAME)[::-1]:
        node.decompose()
    return not any(node.text(strip=True) for node in tree.css(_TEXTS))
