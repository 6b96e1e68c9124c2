"""G13: the visible content of a page is extracted, and nothing else."""

from __future__ import annotations

import gc
from urllib.parse import urlsplit

import pytest

from kefu.knowledge.extract.html import read_html
from kefu.knowledge.pages import Block

URL = "https://www.example.com/help/returns"
PAGE = """<!doctype html><html lang=en-GB><head><title>Returns &amp; refunds</title>
<link rel=canonical href=/help/returns><base href=/help/></head><body>
<nav><a href=/>Home</a> Navigation</nav>
<div class="cookie-banner">We use cookies</div>
<main><h1 id=top>Returns</h1>
<p>Send it back <b>within 30&nbsp;days</b>.<br>No
questions.</p><p hidden>Hidden</p><p style="display: none">Not shown</p>
<script>var text = "Script"</script><template><p>Template</p></template>
<h2 id=how>How</h2><ol><li>Print <a href="label#form">the label</a></li><li>Drop it off</li></ol>
<table><tr><th>Country</th><th>Cost</th></tr><tr><td>Norway</td><td>9 €</td></tr></table>
<pre>curl
  -X POST</pre></main></body></html>"""


def test_headings_lists_tables_and_code_keep_their_shape() -> None:
    page = read_html(PAGE, URL).page
    assert (page.title, page.language) == ("Returns & refunds", "en-GB")
    assert page.blocks == [
        Block("Returns", 1, "top"),
        Block("Send it back within 30 days. No questions."),
        Block("How", 2, "how"),
        Block("- Print the label"),
        Block("- Drop it off"),
        Block("Country | Cost"),
        Block("Norway | 9 €", head="Country | Cost"),
        Block("curl\n  -X POST"),
    ]


def test_g35_a_cell_of_several_rows_is_in_each_of_them() -> None:
    """So wikis write what two prices or opening hours share."""
    table = """<table><tr><th>Part<th>Price<th>Hours
    <tr><td rowspan=3>Pads<td>12 €<td>Mon
    <tr><td>14 €<td rowspan=2 colspan=2>Tue
    <tr><td>16 €
    <tr><td>Cable<td>8 €<td rowspan=2>Wed
    <tr><td>Lever<td>9 €</table>
    <table><tbody><tr><td rowspan=9>A<td>B<tbody><tr><td>C</table>"""
    assert [one.text for one in read_html(table, URL).page.blocks] == [
        "Part | Price | Hours",
        "Pads | 12 € | Mon",
        "Pads | 14 € | Tue",
        "Pads | 16 € | Tue",
        "Cable | 8 € | Wed",
        "Lever | 9 € | Wed",
        "A | B",
        "C",
    ]


def test_g35_a_long_text_or_a_list_beside_several_rows_is_there_once() -> None:
    text = "The same text, which is long. " * 4
    for beside in (f"<p>{text.strip()}</p>", "<h2>Menu</h2>"):
        table = f"<table><tr><td rowspan=2>{beside}<td>One<tr><td>Two<tr><td></table>"
        assert read_html(table, URL).page.blocks[-1].text == "Two"


@pytest.mark.parametrize(
    ("tags", "language"),
    [
        ("<html lang=de><body lang=fr>", "de"),
        ("<html><body lang='fr'>", "fr"),
        ("<html lang><body lang=fr>", ""),
        ("<html><body>", ""),
    ],
)
def test_the_language_is_named_by_the_page_or_by_its_body(tags: str, language: str) -> None:
    assert read_html(f"{tags}<p>Types</p>", URL).page.language == language


def test_links_are_absolute_and_without_fragments() -> None:
    read = read_html(PAGE, URL)
    assert read.links == ("https://www.example.com/", "https://www.example.com/help/label")
    assert read.canonical == "https://www.example.com/help/returns"


def test_g9_a_link_with_nofollow_is_not_followed() -> None:
    """Such links put a product into the cart, or answer a comment."""
    read = read_html("<a rel='external NoFollow' href=/?add-to-cart=5>Buy</a><a href=/b>B</a>", URL)
    assert [urlsplit(link).path for link in read.links] == ["/b"]


def test_g9_the_tools_of_a_wiki_are_no_pages() -> None:
    """MediaWiki gives each page ten of them, in all skins and languages under these ids."""
    tools = """<li id=ca-talk><a href=/wiki/Talk:Rolls>Talk</a><li id=ca-history><a
    href="/index.php?title=Rolls&action=history">History</a><li id=t-whatlinkshere><a
    href=/wiki/Spezial:Linkliste/Rolls>Links</a><li id=pt-login><a href=/wiki/Login>Log in</a>
    <h2>A<span class=mw-editsection><a href=/edit>edit</a></span></h2><li id=n-main><a href=/a>A</a>
    <p><a href=/wiki/Bread>Bread</a> <a href="/index.php?title=Pie&action=edit&redlink=1">Pie</a>
    <div><a href="/index.php?title=Login&returnto=Rolls">Log in</a></div>
    <div>Redirected from <a href="/index.php?title=Bun&redirect=no">Bun</a></div>"""
    wiki, other = (
        [urlsplit(link).path for link in read_html(f"<body class={name}>{tools}", URL).links]
        for name in ("mediawiki", "shop")
    )
    assert wiki == ["/a", "/wiki/Bread"]
    assert {"/wiki/Talk:Rolls", "/wiki/Login", "/index.php"} < set(other)


def test_a_link_in_a_drawing_is_a_link() -> None:
    """So Graphviz and SVG 1.1 write it."""
    read = read_html("<p>Map<svg><a xlink:href=/b><text>B</text></a></svg><a href=/c>C</a>", URL)
    assert [urlsplit(link).path for link in read.links] == ["/b", "/c"]


def test_a_page_says_when_it_must_not_be_learnt() -> None:
    assert read_html(PAGE, URL).indexed
    noindex = PAGE.replace("<head>", "<head><meta name=ROBOTS content='NOINDEX, follow'>")
    assert not read_html(noindex, URL).indexed
    pictures = noindex.replace("NOINDEX, follow", "index, max-image-preview:none")
    assert read_html(pictures, URL).indexed


def test_a_login_wall_and_a_page_that_needs_scripts_are_told_apart_from_text() -> None:
    login = read_html("<form><input type=password></form><p>Please sign in.", URL)
    script = read_html("<div id=root></div><script src=app.js></script>", URL)
    whole = read_html(PAGE, URL)
    assert (login.asks_for_login, login.needs_script) == (True, False)
    assert (script.asks_for_login, script.needs_script) == (False, True)
    assert (whole.asks_for_login, whole.needs_script) == (False, False)


def test_a_locked_page_beside_a_long_menu_asks_for_a_password() -> None:
    """So WordPress shows a page with a password: its sidebar has more text than the page."""
    form = "<p>This content is protected.<form><input type=password></form>"
    beside = f"<aside>{'<p>Rolls and bread.' * 50}</aside>"
    assert read_html(f"<main><h1>Members</h1>{form}</main>{beside}", URL).asks_for_login
    shop = f"<header>{form}</header><main><h1>Rolls</h1><p>Fresh.</main>{beside}"
    assert not read_html(shop, URL).asks_for_login


def test_a_block_says_whether_it_is_outside_of_the_main_part_and_whether_it_is_a_link() -> None:
    framed = PAGE.replace(
        "<main>",
        "<header>Our shop</header><ul><li><a href=/a>A</a> | <a href=b>B</a>"
        "<li><a href=tel:551234>55 12 34</a><li>At <a href=/map>the quay</a></ul><main>",
    )
    blocks = read_html(framed, URL).page.blocks
    assert {one.text: (one.outside, one.linked) for one in blocks[:5]} == {
        "Our shop": (True, False),
        "- A | B": (True, True),
        "- 55 12 34": (True, False),
        "- At the quay": (True, False),
        "Returns": (False, False),
    }


def test_g35_a_list_of_contents_is_no_text() -> None:
    """Docusaurus writes it after the text, WordPress's plugins before it."""
    page = """<main><h1>Help</h1><h2 id=a>Hours</h2><p>From nine.<p><a href=/x>Hours of the shop</a>
    <h2 id=b>Fees</h2><p>None.<div><ul><li><a href=#a>Hours</a><ul><li><a href=#b>Fees</a></ul>
    </ul></div></main>"""
    texts = [one.text for one in read_html(page, URL).page.blocks]
    assert texts == ["Help", "Hours", "From nine.", "Hours of the shop", "Fees", "None."]


def test_g35_a_title_above_nothing_but_a_list_of_contents_is_no_text() -> None:
    """Apache's manual has two beside the text of each module: "Topics" and "Directives"."""
    contents = "<ul><li><a href=#a>Hours</a><li><a href=#b>Fees</a></ul>"
    page = f"""<main><h1>Help</h1><h3>Topics</h3>{contents}<h3>See also</h3><p><a href=/x>Maps</a>
    <h2 id=a>Hours</h2>{contents}<h3>Holidays</h3><p>Closed.
    <h2 id=b>Fees</h2><p>None.<h2>On this page</h2>{contents}</main>"""
    texts = [one.text for one in read_html(page, URL).page.blocks]
    assert texts == ["Help", "See also", "Maps", "Hours", "Holidays", "Closed.", "Fees", "None."]


@pytest.mark.slow
def test_a_deeply_nested_page_is_read() -> None:
    depth = 20_000
    read = read_html("<div>" * depth + "text" + "</div>" * depth, URL)
    assert [one.text for one in read.page.blocks] == ["text"]
    gc.collect()


@pytest.mark.parametrize(
    ("script", "needs"),
    [
        ('<script src="/app.js"></script>', True),
        ("<script>show()</script>", True),
        ('<script type="module" src="https://shop.example/app.js"></script>', True),
        ('<script src="https://counter.example/count.js"></script>', False),
        ('<script type="application/ld+json">{}</script>', False),
        ('<script type="application/json" src="/data.json"></script>', False),
        ("", False),
    ],
)
def test_a_page_without_text_may_need_a_script_of_its_own_site(script: str, needs: bool) -> None:
    html = f"<html><head>{script}</head><body><div id=root></div></body></html>"
    assert read_html(html, "https://shop.example/help").needs_script is needs
