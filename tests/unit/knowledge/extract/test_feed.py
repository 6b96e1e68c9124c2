"""G34: the items of a feed of products are pages with their price and stock."""

from __future__ import annotations

import json

import pytest

from kefu.knowledge.extract.feed import read_feed
from kefu.knowledge.extract.files import Unreadable
from kefu.knowledge.pages import Block, PageText

URL = "https://shop.example/feed"
MERCHANT = """<?xml version="1.0"?><rss xmlns:g="http://base.google.com/ns/1.0" version="2.0">
<channel><title>Shop</title><link>https://shop.example/</link><item><g:id>B-42</g:id>
<title>Boot &amp; lace</title><link>https://shop.example/boot</link>
<description><![CDATA[<p>A warm boot.</p><ul><li>Waxed</ul>]]></description>
<g:price>89.50 EUR</g:price><g:sale_price>79.00 EUR</g:sale_price>
<g:availability>in_stock</g:availability><g:image_link>https://shop.example/b.jpg</g:image_link>
<g:shipping><g:country>NO</g:country><g:price>5 EUR</g:price></g:shipping></item>
<item><g:id>2</g:id><title></title></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>Boot</title>
<link href="/boot"/><summary>A warm boot.</summary></entry></feed>"""
ROW = {"id": 7, "title": "Boot", "link": "/boot", "price": "9 EUR", "colour": ["red", "blue"]}


def items(data: bytes, end: str, url: str, charset: str = "") -> list[PageText]:
    pages, remark = read_feed(data, end, url, charset)
    assert remark == ""
    return pages


def texts(page: PageText) -> list[str]:
    return [one.text for one in page.blocks]


def test_g34_an_item_of_google_merchant_has_its_price_and_stock() -> None:
    [page] = items(MERCHANT.encode(), ".xml", URL)
    assert (page.url, page.title) == ("https://shop.example/boot", "Boot & lace")
    assert texts(page) == [
        "Price: 79.00 EUR (89.50 EUR) | Availability: in stock | Number: B-42 | shipping: NO 5 EUR",
        "A warm boot.",
        "- Waxed",
    ]


def test_g34_an_entry_of_atom_is_a_page() -> None:
    [page] = items(ATOM.encode(), ".xml", URL)
    assert (page.url, texts(page)) == ("https://shop.example/boot", ["A warm boot."])


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (".jsonl", json.dumps(ROW) + "\n\n" + json.dumps(ROW | {"title": None})),
        (".ndjson", json.dumps(ROW)),
        (".json", json.dumps([ROW])),
        (".json", json.dumps({"count": 1, "products": [ROW, 3]})),
        (".json", json.dumps({"errors": [], "data": {"products": [ROW]}})),
        (".csv", "id;title;link;price;colour\n7;Boot;/boot;9 EUR;red, blue\n"),
        (".csv", "sep=;\nid;title;link;price;colour\n7;Boot;/boot;9 EUR;red, blue\n"),
        (".csv", "id\ttitle\tlink\tprice\tcolour\n7\tBoot\t/boot\t9 EUR\tred, blue\n"),
        (".csv", 'ID,Title,link,price,colour\n7,Boot,/boot,9 EUR,"red, blue"\n'),
        (".tsv", "id\ttitle\tlink\tprice\tcolour\n7\tBoot\t/boot\t9 EUR\tred, blue\n"),
    ],
)
def test_g34_rows_of_json_and_csv_are_pages(end: str, text: str) -> None:
    [page] = items(text.encode(), end, URL)
    assert (page.url, page.title) == ("https://shop.example/boot", "Boot")
    assert texts(page) == ["Price: 9 EUR | Number: 7 | colour: red, blue"]


def test_g34_a_chinese_feed_has_chinese_names() -> None:
    rows = "编号,名称,价格,库存\n7,登山靴,99 CNY,in_stock\n"
    [page] = items(rows.encode("gbk"), ".csv", URL, "gbk")
    assert (page.url, texts(page)) == (f"{URL}#7", ["价格: 99 CNY | 库存: 有货 | 编号: 7"])


def test_g34_the_items_with_one_link_are_the_sections_of_a_page() -> None:
    rows = [ROW | {"id": size, "title": f"Boot {size}", "description": "Warm."} for size in "SML"]
    [page] = items(json.dumps(rows).encode(), ".json", URL)
    assert (page.url, page.title) == ("https://shop.example/boot", "Boot S")
    facts = [Block(f"Price: 9 EUR | Number: {size} | colour: red, blue") for size in "SML"]
    assert page.blocks == [
        *(Block("Boot S", 2), facts[0], Block("Warm.")),
        *(Block("Boot M", 2), facts[1]),
        *(Block("Boot L", 2), facts[2]),
    ]


def test_g34_items_without_link_and_id_are_pages_by_their_number() -> None:
    pages = items(b"title,price\nBoot,9 EUR\n,\nSock,2 EUR\n", ".csv", URL)
    assert [(one.url, one.title) for one in pages] == [(f"{URL}#1", "Boot"), (f"{URL}#3", "Sock")]


def test_g34_a_broken_line_and_a_broken_link_are_named() -> None:
    rows = [ROW, ROW | {"title": "Sock\u2028s", "id": 8, "link": "http://[::1"}]
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    pages, remark = read_feed("\r\n".join((lines[0], "{", lines[1], "x")).encode(), ".jsonl", URL)
    assert [one.url for one in pages] == ["https://shop.example/boot", f"{URL}#8"]
    assert remark == "not JSON: line 2 and 1 more; not an address: the link of item 2"


@pytest.mark.parametrize(
    ("end", "data", "reason"),
    [
        (".xml", b"<rss><item><title>x</item>", "not a readable feed"),
        (".xml", b"<html><body>Sign in</body></html>", "needs items with a title"),
        (".json", b"{", "not a readable feed"),
        (".json", b"5", "it has no list of items"),
        (".json", b'{"a": {"b": {"c": [{"title": "x"}]}}}', "it has no list of items"),
        (".json", b"[" * 100_000, "not a readable feed"),
        (".jsonl", b"{\n", "not JSON: line 1"),
        (".jsonl", b"[1, 2]\n3\n", "needs items with a title"),
        (".csv", b"question,answer\na,b\n", "needs items with a title"),
        (".csv", bytes(range(256)) * 4, "not a readable feed"),
    ],
)
def test_g34_another_file_is_no_feed(end: str, data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read_feed(data, end, URL)
