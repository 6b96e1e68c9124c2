"""G13, G35: rows of tables, anchors and the main part of a page."""

from __future__ import annotations

import pytest
from selectolax.lexbor import LexborHTMLParser

from kefu.knowledge.extract.blocks import read_blocks
from kefu.knowledge.pages import Block

URL = "https://shop.example/a"


def blocks(body: str) -> list[Block]:
    return list(read_blocks(LexborHTMLParser(f"<body>{body}</body>"), URL))


def test_g35_a_row_is_one_block_also_with_paragraphs_in_its_cells() -> None:
    """So Sphinx and DocBook write tables."""
    table = """<table><thead><tr><th><p>Country</p></th><th><p>Express</p></th></tr></thead>
    <tbody><tr><td><p>Norway</p></td><td><div><p>9 €</p><p>one day</p></div></td></tr>
    <tr><th>Sweden</th><td>8 €</td></tr></tbody></table><p>After."""
    head = "Country | Express"
    assert [(one.text, one.head) for one in blocks(table)] == [
        (head, ""),
        ("Norway | 9 € one day", head),
        ("Sweden | 8 €", head),
        ("After.", ""),
    ]


def test_g35_a_table_that_lays_out_a_page_keeps_its_headings_and_lists() -> None:
    page = "<table><tr><td><h2 id=a>Hours</h2><p>Daily.</p><ul><li>Nine</ul><td>Side</table>"
    assert [(one.text, one.level, one.anchor) for one in blocks(page)] == [
        ("Hours", 2, "a"),
        ("Daily.", 0, ""),
        ("- Nine", 0, ""),
        ("Side", 0, ""),
    ]


def test_g35_each_table_has_its_own_header_row() -> None:
    first = "<table><tr><th>A<th>B<tr><td>1<td>2</table>"
    assert [one.head for one in blocks(f"{first}<table><tr><td>3<td>4</table>")] == [
        "",
        "A | B",
        "",
    ]


def test_g35_two_listings_in_one_are_lines_of_their_own() -> None:
    """Node.js shows code for two kinds of modules so; DocBook joins the parts of a signature."""
    both = "<code class='language-js mjs'>import a</code><code class='language-js cjs'>b()</code>"
    assert [one.text for one in blocks(f"<pre><input>{both}</pre>")] == ["import a\nb()"]
    parts = "<code class=funcdef>int <b>copy</b>(</code><code>void)</code>"
    assert [one.text for one in blocks(f"<pre>{parts}</pre>")] == ["int copy(void)"]


@pytest.mark.parametrize(
    ("cells", "head"),
    [("<td><th>Free<th>Pro", "| Free | Pro"), ("<td>Plan<td>Free", "Plan | Free")],
)
def test_g35_a_row_in_the_head_of_a_table_is_its_header_row(cells: str, head: str) -> None:
    """Tables that compare plans have an empty corner, which is often no `th`."""
    table = f"<table><thead><tr>{cells}</thead><tbody><tr><th>Mail<td>1<td>9</table>"
    assert [(one.text, one.head) for one in blocks(table)] == [(head, ""), ("Mail | 1 | 9", head)]


@pytest.mark.parametrize("anchor", ["<h2 id=x>", "<a name=x></a><h2>", "<h2><a name=x></a>"])
def test_g35_a_heading_has_the_anchor_at_it(anchor: str) -> None:
    assert blocks(f"{anchor}Hours</h2>") == [Block("Hours", 2, "x")]


def test_the_text_at_the_begin_of_a_page_has_no_anchor_of_the_layout() -> None:
    """Docusaurus gives such an id to what is around the main part."""
    (title,) = blocks(
        "<div id=__docusaurus_skipToContent_fallback><main><h1>Hours</h1></main></div>"
    )
    assert not title.anchor


@pytest.mark.parametrize("mark", ["¶", "#", "\u200b", "\uf0c1"])
def test_g35_a_heading_has_no_mark_for_its_link(mark: str) -> None:
    """So write Sphinx, Docusaurus, VitePress and Read the Docs their links to a heading."""
    heading = f'<h2 id=x>Hours <a class="header-anchor" href="#x">{mark}</a></h2>'
    assert blocks(heading) == [Block("Hours", 2, "x")]


@pytest.mark.parametrize(
    ("title", "text"), [("C#", "C#"), ('<a href="/c">C#</a>', "C#"), ("Use of #", "Use of #")]
)
def test_g35_a_heading_keeps_a_mark_of_its_own(title: str, text: str) -> None:
    [heading] = blocks(f'<h2>{title} <a href="#c">#</a></h2>')
    assert heading.text == text


def test_g35_a_list_of_icons_gives_the_text_below_no_mark_of_a_list() -> None:
    icons = "<ul><li><a href=/feed><svg></svg></a></li></ul>"
    assert [one.text for one in blocks(f"{icons}<p>Hours<ul><li><p>Nine</ul>")] == [
        "Hours",
        "- Nine",
    ]


def test_g35_the_labels_of_tabs_are_separate_words() -> None:
    """So Material for MkDocs and VitePress write tabs."""
    tabs = """<div class="tabbed-labels"><label for="__tabbed_1_1">Bosch</label><label
    for="__tabbed_1_2">Shimano</label></div>"""
    assert [one.text for one in blocks(tabs)] == ["Bosch Shimano"]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<h1><span>Acme</span><span>A tool for people</span></h1>", "Acme A tool for people"),
        ("<a href=/a><b>Guide</b><svg></svg></a><a href=/b>Docs</a>", "Guide Docs"),
        ("<time>May 1</time><span>Updated</span><!-- --><a href=/c>News</a>", "May 1 Updated News"),
        ("<b>A</b>cme <i>get<wbr><b>Name</b></i><wbr><b>Of</b>", "Acme getNameOf"),
        ("<i>x</i><sub>2</sub><b>n</b><sup><a href=#1>1</a></sup>", "x2n1"),
        ("<b>Kef</b><!-- -->u", "Kefu"),
        ("<code>0x</code><em><code>digits</code></em>", "0xdigits"),
        ("<code><b>10</b><b>px</b></code><pre><b>int</b><b>o</b></pre>", "10px|into"),
        ("<h1><b>A</b><b>c</b><b>m</b><b>e</b></h1>", "Acme"),
        ("<b>第1</b><b>章</b><b>退货</b>", "第1章退货"),
    ],
)
def test_g35_elements_side_by_side_are_separate_words(body: str, text: str) -> None:
    """So write VitePress, Starlight and frameworks for apps: style sheets put them apart."""
    assert "|".join(one.text for one in blocks(body)) == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("£12<sup>99</sup>", "£12.99"),
        ("<sup>$</sup><b>1,299</b><sup><small>00</small></sup>", "$1,299.00"),
        ("12<sup>99</sup> €", "12.99 €"),
        ("12<sup>99</sup><span>€</span>", "12.99€"),
        ("£12.50<sup>99</sup>", "£12.5099"),
        ("£12<sup><a href=#12>12</a></sup>", "£1212"),
        ("£12<sup>1</sup>", "£121"),
        ("10<sup>12</sup> atoms", "1012 atoms"),
        ("12 m<sup>2</sup>", "12 m2"),
    ],
)
def test_a_price_with_raised_pence_has_a_dot(body: str, text: str) -> None:
    assert [one.text for one in blocks(body)] == [text]


@pytest.mark.parametrize(
    ("body", "outside"),
    [
        ("<p>A</p><main><p>B</p></main>", [True, False]),
        ("<p>A</p><article><p>B</p></article>", [True, False]),
        ("<article><p>A</p></article><article><p>B</p></article>", [False, False]),
        ("<header><p>A</p></header><p>B</p>", [True, False]),
        ("<div role=complementary>A</div><div role=main>B</div>", [True, False]),
    ],
)
def test_g13_the_main_part_is_named_or_what_is_not_a_frame(body: str, outside: list[bool]) -> None:
    assert [one.outside for one in blocks(body)] == outside
