"""The visible text of an HTML page."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from kefu.knowledge.extract.json_ld import read_questions
from kefu.knowledge.extract.unseen import remove_unseen
from kefu.knowledge.pages import Block, PageText

_FRAME = "header, footer, aside, [role=banner], [role=contentinfo], [role=complementary]"
"""Outside of the main part, on a page that does not name its main part."""

_BLOCK_NAMES = """
address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form h1
h2 h3 h4 h5 h6 header hr li main ol p pre section summary table tbody td tfoot th thead tr ul
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_SPACE = re.compile(r"\s+")

_MOUNTS = "#root, #app, #__next, #__nuxt, #app-root, #svelte, app-root"
"""Elements into which scripts put the text of a page."""
_TEXTS = "main, article, p, li, h1, h2, h3, h4, h5, h6, td, dd, dt, pre, blockquote, address"

SIGN_IN_BYTES = 600
"""Bytes. A page with a field for a password and less text is a sign-in."""

LOADING_TEXT_BYTES = 80
"""Bytes of a text such as "Loading, please wait"."""


class Html(NamedTuple):
    page: PageText
    canonical: str = ""
    """The address that the page names as its own; empty when it names none."""
    indexed: bool = True
    """False when the page asks not to be indexed."""
    links: tuple[str, ...] = ()
    """Absolute addresses without fragments, in order."""
    asks_for_login: bool = False
    needs_script: bool = False
    """Whether the page has no text without its scripts."""


def read_html(html: str | bytes, url: str) -> Html:
    tree = LexborHTMLParser(html)
    head = _Head(tree, url)
    canonical, indexed, links = head.canonical(), head.indexed(), head.links()
    login = tree.css_first("input[type=password]") is not None
    has_script, questions = head.has_script(), list(_questions(tree, head.base))
    blocks = list(_seen(tree, head.base))
    known = {one.text for one in blocks}
    if not known.intersection(one.text for one in questions if one.level):
        blocks += questions
    headings = sorted((one for one in blocks if one.level), key=lambda one: one.outside)
    title = head.title or (headings[0].text if headings else "")
    page = PageText(url, title, blocks, head.language)
    size = sum(len(one.text.encode(errors="replace")) for one in blocks)
    needs_script = has_script and not questions and (not blocks or _waits(tree, blocks))
    return Html(page, canonical, indexed, links, login and size < SIGN_IN_BYTES, needs_script)


class _Head:
    def __init__(self, tree: LexborHTMLParser, url: str) -> None:
        self._tree = tree
        base = tree.css_first("base[href]")
        self.url = url
        self.base = _joined(url, (base.attributes.get("href") or "") if base else "") or url
        root = tree.css_first("html")
        self.language = ((root.attributes.get("lang") or "") if root else "").strip()
        title = tree.css_first("head > title") or tree.css_first("title")
        self.title = _SPACE.sub(" ", title.text()).strip() if title else ""

    def canonical(self) -> str:
        link = self._tree.css_first("link[rel~=canonical][href]")
        return (_joined(self.base, link.attributes["href"] or "") or "") if link else ""

    def has_script(self) -> bool:
        """Whether a script of the site itself could write the page's text."""
        return any(
            "json" not in (node.attributes.get("type") or "")
            and _is_own(self.url, node.attributes.get("src") or "")
            for node in self._tree.css("script")
        )

    def indexed(self) -> bool:
        tags = self._tree.css("meta[name=robots i], meta[name=kefu i]")
        content = " ".join((tag.attributes.get("content") or "") for tag in tags).lower()
        return not re.search(r"\b(noindex|none)\b", content)

    def links(self) -> tuple[str, ...]:
        found = dict[str, None]()
        for node in self._tree.css("a[href]"):
            target = _joined(self.base, node.attributes["href"] or "")
            if target:
                found[target.partition("#")[0]] = None
        return tuple(found)


def _joined(base: str, href: str, schemes: Container[str] = ("http", "https")) -> str | None:
    """The absolute address; None for an address that cannot be read or has another scheme."""
    try:
        target = urljoin(base, href.strip())
        return target if urlsplit(target).scheme in schemes else None
    except ValueError:  # such as an IPv6 address that is cut off
        return None


def _seen(tree: LexborHTMLParser, base: str) -> Iterator[Block]:
    remove_unseen(tree)
    if tree.body:
        yield from _Blocks(tree, base).read(tree.body)


def _questions(tree: LexborHTMLParser, base: str) -> Iterator[Block]:
    for name, answer in read_questions(tree):
        question = " ".join(block.text for block in _seen(LexborHTMLParser(name), base))
        yield Block(question, 2)
        yield from _seen(LexborHTMLParser(answer), base)


def _waits(tree: LexborHTMLParser, blocks: Sequence[Block]) -> bool:
    """Whether a page has only a place for text. The tree cannot be used afterwards."""
    size = sum(len(one.text.encode(errors="replace")) for one in blocks if not one.outside)
    if size >= LOADING_TEXT_BYTES or tree.css_first(_MOUNTS) is None:
        return False
    for node in tree.css(_FRAME)[::-1]:
        node.decompose()
    return not any(node.text(strip=True) for node in tree.css(_TEXTS))


def _main(tree: LexborHTMLParser) -> LexborNode | None:
    articles = tree.css("article")
    alone = articles[0] if len(articles) == 1 else None
    return tree.css_first("main, [role=main]") or alone


def _is_own(base: str, href: str) -> bool:
    """Whether a link leads to the same site. A telephone number or a map is no entry of a menu."""
    target = _joined(base, href, ("http", "https", ""))
    return target is not None and urlsplit(target).netloc == urlsplit(base).netloc


class _Blocks:
    """Walks a tree without recursion: a hostile page can be nested very deeply."""

    def __init__(self, tree: LexborHTMLParser, base: str) -> None:
        self._base = base
        main = _main(tree)
        self._edges = {node.mem_id for node in ([main] if main else tree.css(_FRAME))}
        self._has_main = main is not None
        self._depth = 0
        """The number of `_edges` around the current node."""
        self._parts: list[str] = []
        self._level = 0
        self._anchor = ""
        self._is_pre = False
        self._prefix = ""
        self._in_link = False
        self._linked = True
        """Whether all words since the last block were links."""

    def read(self, root: LexborNode) -> Iterator[Block]:
        node: LexborNode | None = root
        while node is not None:
            yield from self._enter(node)
            if node.first_child is not None:
                node = node.first_child
                continue
            while node is not None:
                yield from self._leave(node)
                if node.mem_id == root.mem_id:
                    return
                if node.next is not None:
                    node = node.next
                    break
                node = node.parent

    def _enter(self, node: LexborNode) -> Iterator[Block]:
        if node.is_text_node:
            text = node.text_content or ""
            self._parts.append(text)
            if self._linked and not self._in_link and any(map(str.isalnum, text)):
                self._linked = False
            return
        tag = node.tag or ""
        if tag == "br":
            self._parts.append("\n" if self._is_pre else " ")
        if tag in {"td", "th"} and any(part.strip() for part in self._parts):
            self._parts.append(" | ")
        elif tag in _BLOCKS and tag not in {"td", "th"}:
            yield from self._flush()
            self._prefix = "- " if tag == "li" else self._prefix
        self._depth += node.mem_id in self._edges
        if tag == "a" and (href := node.attributes.get("href")):
            self._in_link = _is_own(self._base, href)
        elif tag == "button" and not self._level:
            self._in_link = True
        if tag in {"h1", "h2", "h3", "h4", "h5", "h6"}:
            self._level = int(tag[1])
        self._is_pre = self._is_pre or tag == "pre"
        if anchor := node.attributes.get("id") if tag not in {"body", "main"} else None:
            self._anchor = anchor

    def _leave(self, node: LexborNode) -> Iterator[Block]:
        tag = node.tag or ""
        if tag in _BLOCKS and tag not in {"td", "th"}:
            yield from self._flush()
        self._depth -= node.mem_id in self._edges
        if tag in {"a", "button"}:
            self._in_link = False
        if tag in {"h1", "h2", "h3", "h4", "h5", "h6"}:
            self._level = 0
        if tag == "pre":
            self._is_pre = False

    def _flush(self) -> Iterator[Block]:
        text = "".join(self._parts)
        self._parts.clear()
        text = text.strip("\n") if self._is_pre else _SPACE.sub(" ", text).strip()
        linked, self._linked = self._linked, True
        if not text.strip(" |"):
            return
        place = linked, self._has_main == (self._depth == 0)
        if self._level:
            yield Block(text.rstrip("¶# "), self._level, self._anchor, *place)
            self._anchor = ""
        else:
            yield Block(self._prefix + text, 0, "", *place)
        self._prefix = ""
