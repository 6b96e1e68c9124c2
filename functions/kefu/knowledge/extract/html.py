"""The visible text of an HTML page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from kefu.knowledge.pages import Block, Page

_HIDDEN = (
    "script, style, noscript, template, iframe, object, svg, canvas, form, button, select, dialog,"
    " nav, [hidden], [aria-hidden=true], [role=navigation], [role=search], [role=dialog],"
    " [role=alertdialog], [role=doc-toc], .toc, #toc, .sr-only, .visually-hidden"
)
_FRAME = "header, footer, aside, [role=banner], [role=contentinfo], [role=complementary]"
"""Outside of the main part, on a page that does not name its main part."""

_NO_DISPLAY = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_BLOCK_NAMES = """
address article aside blockquote body dd details div dl dt fieldset figcaption figure footer h1 h2
h3 h4 h5 h6 header hr li main ol p pre section summary table tbody td tfoot th thead tr ul
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_SPACE = re.compile(r"\s+")


class Html(NamedTuple):
    page: Page
    canonical: str
    """The address that the page names as its own; empty when it names none."""
    indexed: bool
    """False when the page asks not to be indexed."""
    links: tuple[str, ...]
    """Absolute addresses without fragments, in order."""
    asks_for_login: bool
    needs_script: bool
    """Whether the page has almost no text without its scripts."""


def read_html(html: str | bytes, url: str) -> Html:
    tree = LexborHTMLParser(html)
    head = _Head(tree, url)
    canonical, indexed, links = head.canonical(), head.indexed(), head.links()
    login = tree.css_first("input[type=password]") is not None
    scripts = len(tree.css("script"))
    for node in tree.css(_HIDDEN):
        node.decompose()
    body = _body(tree)
    blocks = list(_Blocks(tree, head.base).read(body)) if body else []
    headings = sorted((one for one in blocks if one.level), key=lambda one: one.outside)
    title = head.title or (headings[0].text if headings else "")
    page = Page(url, title, blocks, head.language)
    size = sum(len(one.text) for one in blocks)
    return Html(page, canonical, indexed, links, login and size < 600, bool(scripts) and size < 80)


class _Head:
    def __init__(self, tree: LexborHTMLParser, url: str) -> None:
        self._tree = tree
        base = tree.css_first("base[href]")
        self.url = url
        self.base = urljoin(url, (base.attributes.get("href") or "") if base else "")
        root = tree.css_first("html")
        self.language = ((root.attributes.get("lang") or "") if root else "").strip()
        title = tree.css_first("head > title") or tree.css_first("title")
        self.title = _SPACE.sub(" ", title.text()).strip() if title else ""

    def canonical(self) -> str:
        link = self._tree.css_first("link[rel~=canonical][href]")
        return urljoin(self.base, link.attributes["href"] or "") if link else ""

    def indexed(self) -> bool:
        tags = self._tree.css("meta[name=robots i], meta[name=kefu i]")
        content = " ".join((tag.attributes.get("content") or "") for tag in tags).lower()
        return not re.search(r"\b(noindex|none)\b", content)

    def links(self) -> tuple[str, ...]:
        found = dict[str, None]()
        for node in self._tree.css("a[href]"):
            try:
                target = urljoin(self.base, (node.attributes["href"] or "").strip())
                if urlsplit(target).scheme in {"http", "https"}:
                    found[target.partition("#")[0]] = None
            except ValueError:
                continue  # such as an IPv6 address that is cut off
        return tuple(found)


def _body(tree: LexborHTMLParser) -> LexborNode | None:
    for node in tree.css("[id*=cookie i], [class*=cookie i], [id*=consent i], [class*=consent i]"):
        if node.tag not in {"html", "body", "main", "article"}:
            node.decompose()
    for node in tree.css("[style]"):
        if _NO_DISPLAY.search(node.attributes.get("style") or ""):
            node.decompose()
    return tree.body


def _main(tree: LexborHTMLParser) -> LexborNode | None:
    articles = tree.css("article")
    alone = articles[0] if len(articles) == 1 else None
    return tree.css_first("main, [role=main]") or alone


def _is_inside(base: str, href: str) -> bool:
    """Whether a link leads to the same site. A telephone number or a map is no entry of a menu."""
    try:
        target = urlsplit(urljoin(base, href.strip()))
    except ValueError:
        return False
    return target.scheme in {"http", "https", ""} and target.netloc == urlsplit(base).netloc


class _Blocks:
    """Walks a tree without recursion: a hostile page can be nested very deeply."""

    def __init__(self, tree: LexborHTMLParser, base: str) -> None:
        self._base = base
        main = _main(tree)
        self._edges = {node.mem_id for node in ([main] if main else tree.css(_FRAME))}
        self._has_main = main is not None
        self._depth = 0
        """Of edges around the node."""
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
            self._in_link = _is_inside(self._base, href)
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
        if tag == "a":
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
