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
"""Left out where a site has too few pages to tell its frame from its text."""

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


def read_html(html: str | bytes, url: str, *, whole: bool = True) -> Html:
    """Read a page. `whole`: False for a site of few pages, whose `main` alone is read."""
    tree = LexborHTMLParser(html)
    head = _Head(tree, url)
    canonical, indexed, links = head.canonical(), head.indexed(), head.links()
    login = tree.css_first("input[type=password]") is not None
    scripts = len(tree.css("script"))
    for node in tree.css(_HIDDEN):
        node.decompose()
    body = _body(tree, whole=whole)
    blocks = list(_Blocks().read(body)) if body else []
    title = head.title or next((one.text for one in blocks if one.level), "")
    page = Page(url, title, blocks, head.language)
    size = sum(len(one.text) for one in blocks)
    return Html(page, canonical, indexed, links, login and size < 600, bool(scripts) and size < 80)


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
        return _joined(self.base, link.attributes["href"] or "") if link else ""

    def indexed(self) -> bool:
        tags = self._tree.css("meta[name=robots i], meta[name=kefu i]")
        content = " ".join((tag.attributes.get("content") or "") for tag in tags).lower()
        return not re.search(r"\b(noindex|none)\b", content)

    def links(self) -> tuple[str, ...]:
        found = dict[str, None]()
        for node in self._tree.css("a[href]"):
            target = _joined(self.base, (node.attributes["href"] or "").strip())
            if target:
                found[target.partition("#")[0]] = None
        return tuple(found)


def _joined(base: str, href: str) -> str:
    """The absolute address, or "" if it is none of the web."""
    try:
        target = urljoin(base, href)
        return target if urlsplit(target).scheme in {"http", "https"} else ""
    except ValueError:  # such as an IPv6 address that is cut off
        return ""


def _body(tree: LexborHTMLParser, *, whole: bool) -> LexborNode | None:
    for node in tree.css("[id*=cookie i], [class*=cookie i], [id*=consent i], [class*=consent i]"):
        if node.tag not in {"html", "body", "main", "article"}:
            node.decompose()
    for node in tree.css("[style]"):
        if _NO_DISPLAY.search(node.attributes.get("style") or ""):
            node.decompose()
    if whole:
        return tree.body
    main = tree.css_first("main, [role=main]") or tree.css_first("article")
    if main:
        return main
    for node in tree.css(_FRAME):
        node.decompose()
    return tree.body


class _Blocks:
    """Walks a tree without recursion: a hostile page can be nested very deeply."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._level = 0
        self._anchor = ""
        self._is_pre = False
        self._prefix = ""

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
            self._parts.append(node.text_content or "")
            return
        tag = node.tag or ""
        if tag == "br":
            self._parts.append("\n" if self._is_pre else " ")
        if tag in {"td", "th"} and any(part.strip() for part in self._parts):
            self._parts.append(" | ")
        elif tag in _BLOCKS and tag not in {"td", "th"}:
            yield from self._flush()
            self._prefix = "- " if tag == "li" else self._prefix
        if tag in {"h1", "h2", "h3", "h4", "h5", "h6"}:
            self._level = int(tag[1])
        self._is_pre = self._is_pre or tag == "pre"
        if anchor := node.attributes.get("id") if tag not in {"body", "main"} else None:
            self._anchor = anchor

    def _leave(self, node: LexborNode) -> Iterator[Block]:
        tag = node.tag or ""
        if tag in _BLOCKS and tag not in {"td", "th"}:
            yield from self._flush()
        if tag in {"h1", "h2", "h3", "h4", "h5", "h6"}:
            self._level = 0
        if tag == "pre":
            self._is_pre = False

    def _flush(self) -> Iterator[Block]:
        text = "".join(self._parts)
        self._parts.clear()
        text = text.strip("\n") if self._is_pre else _SPACE.sub(" ", text).strip()
        if not text.strip(" |"):
            return
        if self._level:
            yield Block(text.rstrip("¶# "), self._level, self._anchor)
            self._anchor = ""
        else:
            yield Block(self._prefix + text)
        self._prefix = ""
