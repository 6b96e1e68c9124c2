"""The blocks of an HTML page: its headings, paragraphs, list items, table rows and code."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from kefu.knowledge.pages import Block

FRAME = "header, footer, aside, [role=banner], [role=contentinfo], [role=complementary]"
"""Outside of the main part, on a page that does not name its main part."""

_BLOCK_NAMES = """
address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form h1
h2 h3 h4 h5 h6 header hr li main ol p pre section summary table tbody td tfoot th thead tr ul
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
CELLS = frozenset({"td", "th"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_JOINED = frozenset({"em", "sub", "sup", "var", "wbr"})
"""Elements within a word: no gap belongs before or after them."""
NO_CELL = "h1, h2, h3, h4, h5, h6, ul, ol, dl, pre, table, section, article, form, main"
"""A row with one of these is the layout of a page, and no row of facts."""
_NEXT_LISTING = "pre > code[class*=language-] + code[class*=language-]"
_AMOUNT = re.compile(r"([$£€¥]\s?)?(?:\d+|\d{1,3}(?:[.,]\d{3})+)\Z")
_BEFORE_CURRENCY = re.compile(r"\s*[$£€¥]")
_LONGEST_AMOUNT = 20
"""Characters."""
SPACE = re.compile(r"\s+")


def read_blocks(tree: LexborHTMLParser, base: str) -> Iterator[Block]:
    """The blocks of a page in reading order. `base`: the address for relative links."""
    for listing in tree.css(_NEXT_LISTING):
        listing.insert_before("\n")
    if tree.body:
        yield from _Walk(tree, base).read(tree.body)


def absolute(base: str, href: str, schemes: Container[str] = ("http", "https")) -> str | None:
    """The absolute address; None for an address that cannot be read or has another scheme."""
    try:
        target = urljoin(base, href.strip())
        return target if urlsplit(target).scheme in schemes else None
    except ValueError:  # such as an IPv6 address that is cut off
        return None


def is_own(base: str, href: str) -> bool:
    """Whether a link leads to the same site. A telephone number or a map is no entry of a menu."""
    target = absolute(base, href, ("http", "https", ""))
    return target is not None and urlsplit(target).netloc == urlsplit(base).netloc


def _main(tree: LexborHTMLParser) -> LexborNode | None:
    articles = tree.css("article")
    alone = articles[0] if len(articles) == 1 else None
    return tree.css_first("main, [role=main]") or alone


class _Walk:
    """Walks a tree without recursion: a hostile page can be nested very deeply."""

    def __init__(self, tree: LexborHTMLParser, base: str) -> None:
        self._base = base
        main = _main(tree)
        self._edges = {node.mem_id for node in ([main] if main else tree.css(FRAME))}
        self._has_main = main is not None
        self._depth = 0
        """The number of `_edges` around the current node."""
        self._parts: list[str] = []
        self._level = 0
        self._anchor = ""
        self._is_pre = False
        self._prefix = ""
        self._in_link = False
        self._is_mark = False
        """Whether the node is in a heading's link without words, to the heading itself."""
        self._linked = True
        """Whether all words since the last block were links."""
        self._after_end = self._is_beside = False
        """Whether an element ended since the last text, and whether another began after it."""
        self._in_row = False
        self._cells = set[str]()
        """The names of the row's cells."""
        self._is_head = False
        """Whether the row is in the head of its table."""
        self._head = ""

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
            if self._is_mark:
                return
            if self._is_beside and self._lacks_gap(text, node):
                self._parts.append(" ")
            self._after_end = self._is_beside = False
            self._parts.append(text)
            if self._linked and not self._in_link and any(map(str.isalnum, text)):
                self._linked = False
            return
        tag = node.tag or ""
        yield from self._begin(tag, node)
        self._depth += node.mem_id in self._edges
        if tag == "a" and (href := node.attributes.get("href")):
            self._in_link = is_own(self._base, href)
            self._is_mark = self._level > 0 and not any(map(str.isalnum, node.text()))
        elif tag == "button" and not self._level:
            self._in_link = True
        if tag in _HEADINGS:
            self._level = int(tag[1])
        self._is_pre = self._is_pre or tag == "pre"
        anchor = node.attributes.get("id") or (node.attributes.get("name") if tag == "a" else None)
        if tag == "main":
            self._anchor = ""
        elif anchor and tag != "body":
            self._anchor = anchor

    def _begin(self, tag: str, node: LexborNode) -> Iterator[Block]:
        if node.is_element_node:  # and no comment
            self._is_beside = self._after_end = self._after_end and tag not in _JOINED
        if tag == "br":
            self._parts.append("\n" if self._is_pre else " ")
        elif tag in {"label", "time"}:
            self._parts.append(" ")
        elif tag == "sup" and self._is_pence(node):
            self._parts.append(".")
        elif tag in CELLS:
            is_behind_corner = self._is_head and bool(self._cells)
            self._cells.add(tag)
            if is_behind_corner or any(part.strip() for part in self._parts):
                self._parts.append(" | ")
        elif tag in _BLOCKS:
            yield from self._end_block(tag)
            self._prefix = "- " if tag == "li" else self._prefix
            if tag in {"table", "tr"}:
                self._cells.clear()
                self._in_row = tag == "tr" and node.css_first(NO_CELL) is None
                self._is_head = node.parent is not None and node.parent.tag == "thead"
                self._head = "" if tag == "table" else self._head

    def _lacks_gap(self, text: str, node: LexborNode) -> bool:
        """Whether a style sheet alone puts a text apart from the element just before its own, such
        as a button from the next. Code, and a title with an element for each letter, has no gaps.
        """
        before = self._parts[-1] if self._parts else ""
        around = node.parent and node.parent.parent
        is_code = self._is_pre or (around is not None and around.tag == "code")
        joint = before[-1:] + text[:1]
        is_inside = len(joint) == 2 and all(
            one.isdigit() or one.upper() != one.lower() for one in joint
        )
        return is_inside and not is_code and len(before) + len(text) > 2

    def _is_pence(self, node: LexborNode) -> bool:
        """Whether a raised text is the end of an amount of money, and no power and no footnote."""
        text = node.text(strip=True)
        if len(text) != 2 or not text.isdecimal() or node.css_first("a"):
            return False
        amount = _AMOUNT.search("".join(self._parts[-3:])[-_LONGEST_AMOUNT:])
        after = node.next and (node.next.first_child or node.next)
        following = (after.text_content if after else "") or ""
        return amount is not None and bool(amount[1] or _BEFORE_CURRENCY.match(following))

    def _leave(self, node: LexborNode) -> Iterator[Block]:
        tag = node.tag or ""
        if node.is_element_node:
            self._after_end, self._is_beside = tag not in _JOINED, False
        if tag == "tr":
            self._in_row = False
        if tag in _BLOCKS and tag not in CELLS:
            yield from self._end_block(tag)
        self._depth -= node.mem_id in self._edges
        if tag in {"a", "button"}:
            self._in_link = self._is_mark = False
        if tag in _HEADINGS:
            self._level = 0
        if tag == "pre":
            self._is_pre = False
        if tag == "table":
            self._head = ""

    def _end_block(self, tag: str) -> Iterator[Block]:
        """A paragraph in a cell of a row does not end the row."""
        if self._in_row and tag != "tr":
            self._parts.append(" ")
            return
        text = "".join(self._parts)
        self._parts.clear()
        text = text.strip("\n") if self._is_pre else SPACE.sub(" ", text).strip()
        linked, self._linked = self._linked, True
        if not text.strip(" |"):
            self._prefix = "" if tag == "li" else self._prefix
            return
        place = linked, self._has_main == (self._depth == 0)
        if self._level:
            yield Block(text, self._level, self._anchor, *place)
            self._anchor = ""
        else:
            is_row = tag == "tr" and "td" in self._cells and not self._is_head
            yield Block(self._prefix + text, 0, "", *place, self._head if is_row else "")
        if tag == "tr" and (self._is_head or self._cells == {"th"}):
            self._head = text
        self._prefix = ""
