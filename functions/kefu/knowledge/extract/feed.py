"""Reads a feed of products: Google Merchant's XML, JSON, JSON Lines or CSV. An item is a page.

https://support.google.com/merchants/answer/7052112 names the fields.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urljoin
from xml.etree.ElementTree import Element, ParseError, iterparse

from selectolax.lexbor import LexborHTMLParser

from kefu.knowledge.extract.blocks import read_blocks
from kefu.knowledge.extract.encoding import decoded
from kefu.knowledge.extract.files import Unreadable, csv_rows
from kefu.knowledge.extract.json_ld import fact_names, sold_as
from kefu.knowledge.pages import Block, PageText

FEED_ENDS = (".csv", ".json", ".jsonl", ".ndjson", ".tsv", ".xml")

Row = Mapping[str, str]

_TITLE, _LINK = ("title", "name", "标题", "名称"), ("link", "url", "链接")
_ID, _TEXT = ("id", "sku", "编号"), ("description", "body", "summary", "描述")
_PRICE, _SALE = ("price", "价格"), ("sale_price",)
_STOCK = ("availability", "stock", "库存")
_HANDLED = {*_TITLE, *_LINK, *_ID, *_TEXT, *_PRICE, *_SALE, *_STOCK}
_IS_ADDRESS = re.compile(r"https?://\S+\Z")
_HAN = re.compile("[\u4e00-\u9fff]")


def read_feed(data: bytes, end: str, url: str, charset: str = "") -> tuple[list[PageText], str]:
    """The items of a feed that have a title, and a remark for the report.

    `url` is the base of relative links, and the address of items without a link. Items with the
    same address, such as the sizes of a boot, are one page. Raises Unreadable. For the reader's
    process alone.
    """
    lines, links = list[str](), list[str]()
    try:
        rows = list(_xml(data) if end == ".xml" else _texts(data, end, charset, lines))
    except (ParseError, csv.Error, ValueError, RecursionError) as error:
        raise Unreadable(f"not a readable feed: {error}") from None
    pages = dict[str, list[PageText]]()
    for number, row in enumerate(rows, 1):
        if page := _page(row, url, number, links):
            pages.setdefault(page.url, []).append(page)
    remarks = _named("not JSON: line", lines), _named("not an address: the link of item", links)
    remark = "; ".join(filter(None, remarks))
    if not pages:
        raise Unreadable(remark or "a feed needs items with a title")
    return [_joined(same) for same in pages.values()], remark


def _named(reason: str, found: Sequence[str]) -> str:
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{reason} {found[0]}{more}" if found else ""


def _joined(pages: Sequence[PageText]) -> PageText:
    """One page with a section for each of the pages. What they have in common is there once."""
    if len(pages) == 1:
        return pages[0]
    blocks, known = list[Block](), set[Block]()
    for page in pages:
        blocks += [Block(page.title, 2), *(one for one in page.blocks if one not in known)]
        known.update(page.blocks)
    return pages[0]._replace(blocks=blocks)


def _xml(data: bytes) -> Iterator[Row]:
    """The `item`s of RSS, or the `entry`s of Atom."""
    for _, node in iterparse(io.BytesIO(data)):  # noqa: S314 - memory and time are limited
        if _name(node) in {"item", "entry"}:
            row = dict[str, str]()
            for field in node:
                text = " ".join(" ".join(field.itertext()).split()) or field.get("href", "")
                if text:
                    row.setdefault(_name(field), text)
            yield row
            node.clear()


def _name(node: Element) -> str:
    return node.tag.rpartition("}")[2].lower()


def _texts(data: bytes, end: str, charset: str, wrong: list[str]) -> Iterator[Row]:
    """The numbers of lines that are not JSON are added to `wrong`. Raises ValueError."""
    found = decoded(data, charset)
    if found is None:
        raise ValueError("it is no text")
    if end in {".csv", ".tsv"}:
        rows: Iterable[Any] = csv_rows(found.text, "\t" if end == ".tsv" else "")
    elif end == ".json":
        rows = _list(json.loads(found.text))
    else:
        rows = _lines(found.text, wrong)
    for row in rows:
        if isinstance(row, dict):
            fields = ((str(key).strip().lower(), _value(value)) for key, value in row.items())
            yield {key: value for key, value in fields if value}


def _list(whole: object) -> list[object]:
    """The first list with objects, at most two levels below the top. Raises ValueError."""
    level = [whole]
    for _ in range(3):
        for one in level:
            if isinstance(one, list) and any(isinstance(item, dict) for item in one):
                return one
        level = [value for one in level if isinstance(one, dict) for value in one.values()]
    raise ValueError("it has no list of items")


def _lines(text: str, wrong: list[str]) -> Iterator[object]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                wrong.append(str(number))


def _value(value: object) -> str:
    """A number or text as text; a list of them joined with commas."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(_value, value)))
    is_plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value).strip() if is_plain else ""


def _first(row: Row, names: tuple[str, ...]) -> str:
    return next((row[name] for name in names if name in row), "")


def _page(row: Row, url: str, number: int, wrong: list[str]) -> PageText | None:
    """The item's number is added to `wrong` if its link is no address."""
    title, link, id = _first(row, _TITLE), _first(row, _LINK), _first(row, _ID)
    if not title:
        return None
    language = row.get("content_language", "") or ("zh" if _HAN.search(title) else "")
    names = fact_names(language)
    price, sale = _first(row, _PRICE), _first(row, _SALE)
    facts = {
        names["price"]: f"{sale} ({price})" if sale and price else sale or price,
        names["availability"]: sold_as(_first(row, _STOCK), language),
        names["sku"]: id,
    }
    rest = {key.replace("_", " "): value for key, value in row.items() if key not in _HANDLED}
    facts |= {key: value for key, value in rest.items() if not _IS_ADDRESS.match(value)}
    # One line, because a line such as "in stock" would be taken for the frame of the site.
    line = " | ".join(f"{name}: {value}" for name, value in facts.items() if value)
    text = _first(row, _TEXT)
    tree = LexborHTMLParser(text) if "<" in text else None
    described = list(read_blocks(tree, url)) if tree else [Block(text)]
    address = f"{url}#{id or number}"
    try:
        address = urljoin(url, link) if link else address
    except ValueError:
        wrong.append(str(number))
    blocks = [one for one in (Block(line), *described) if one.text]
    return PageText(address, title, blocks, language)
