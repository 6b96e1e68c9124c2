"""G13: text that a reader sees is kept: short pages with scripts, articles named after cookies,
answers that a click shows, and pages inside a form.
"""

from __future__ import annotations

import json

import pytest

from kefu.knowledge.extract.html import Html, read_html

URL = "https://shop.example/page"
TAG = '<script src="https://chat.example/chat-widget.js" data-title="Help" defer></script>'
OWN_TAG = '<script src="/chat-widget.js" defer></script>'
LD = '<script type="application/ld+json">{"@type": "Bakery", "name": "Strand"}</script>'
INLINE = "<script>window.dataLayer = []</script>"


def read(body: str, head: str = "") -> Html:
    return read_html(f"<html><head><title>T</title>{head}</head><body>{body}</body></html>", URL)


def texts(body: str) -> list[str]:
    return [one.text for one in read(body).page.blocks]


@pytest.mark.parametrize("scripts", [TAG, OWN_TAG, LD, INLINE, TAG + OWN_TAG + LD + INLINE])
@pytest.mark.parametrize(
    "body",
    [
        "<main><h1>Contact</h1><p>Phone 55 12 34 56. Strandgaten 4, Bergen.</p></main>",
        "<p>Open 8 to 17.</p>",
        "<div>Open 8 to 17.</div>",
        "<ul><li>Rolls<li>Buns</ul><div id=root></div>",
        "<main><h1>联系我们</h1><p>电话：010-12345678。地址：北京市朝阳区。</p></main>",
        "<div id=app><p>营业时间：每天八点。</p></div>",
    ],
)
def test_d3_a_short_page_with_a_script_has_text(body: str, scripts: str) -> None:
    found = read(body, scripts)
    assert not found.needs_script
    assert found.page.blocks


@pytest.mark.parametrize(
    "body",
    [
        "<div id=root></div>",
        "<div id=app>Loading, please wait …</div>",
        "<header>Our shop</header><div id=__next></div><footer><p>© 2026 Our shop</p></footer>",
        "<noscript><p>You need to enable JavaScript to run this app.</p></noscript>",
        "<app-root></app-root>",
    ],
)
def test_d3_a_page_with_only_a_place_for_text_needs_its_script(body: str) -> None:
    assert read(body + "<script type=module src=/assets/index.js></script>").needs_script


ARIA = """<div><ul role=tablist><li><a role=tab href=#a>Bosch</a><li><a role=tab href=#b>Shimano
</a></ul></div><div role=tabpanel id=a>35 €.</div><div role=tabpanel id=b hidden>49 €.</div>"""
MATERIAL = """<div class=tabbed-labels><label>Bosch</label><label>Shimano</label></div>
<div class=tabbed-content><div class=tabbed-block><p>35 €.</div><div class=tabbed-block><p>49 €."""
VITEPRESS = """<div class=vp-code-group><div class=tabs><label>Bosch</label><label>Shimano</label>
</div><div class=blocks><div><pre>35 €.</pre></div><div><pre>49 €.</pre></div></div></div>"""


@pytest.mark.parametrize("tabs", [ARIA, MATERIAL, VITEPRESS])
def test_g35_a_text_behind_a_tab_has_the_name_of_the_tab(tabs: str) -> None:
    assert " ".join(texts(f"<main><div>{tabs}</div></main>")) == "Bosch: 35 €. Shimano: 49 €."


def test_g35_a_panel_with_a_heading_of_the_same_name_is_named_once() -> None:
    """So WooCommerce writes the tabs of a product."""
    body = """<div><ul role=tablist><li role=tab><a href=#a>Description</a><li role=tab>
    <a href=#b>Sizes</a></ul><div role=tabpanel id=a><h2>Description</h2><p>Red.</div>
    <div role=tabpanel id=b><p>S to L.</div></div>"""
    assert texts(body) == ["Description", "Red.", "Sizes:", "S to L."]


def test_g35_an_accordion_that_calls_its_questions_tabs_keeps_them() -> None:
    """So Bootstrap 3 and jQuery UI write it."""
    body = """<div role=tablist><div role=tab><h4>Can I cancel?</h4></div><div role=tabpanel>
    Within a day.</div></div>"""
    assert texts(body) == ["Can I cancel?", "Within a day."]


@pytest.mark.parametrize(
    "crumbs",
    [
        "<div class=breadcrumbs><a href=/>TEXT</a> » <b>Rolls</b></div>",
        "<ol itemscope itemtype='https://schema.org/BreadcrumbList'><li>TEXT<li>Rolls</ol>",
        "<ul class='breadcrumb dark'><li><a href=/>TEXT</a><li>Rolls</ul>",
    ],
)
def test_g35_the_way_to_a_page_is_no_text(crumbs: str) -> None:
    assert texts(f"<main>{crumbs}<h1>Rolls</h1><p>Fresh.") == ["Rolls", "Fresh."]


def test_g35_a_banner_with_the_way_and_the_title_is_text() -> None:
    """So themes of Bootstrap name it."""
    body = "<section class=breadcrumbs><h2>Prices</h2><ol><li>Home</ol></section>"
    assert texts(body) == ["Prices", "- Home"]


def test_g35_code_is_learnt_without_the_name_of_its_language() -> None:
    """So VitePress writes it."""
    code = "<div class='language-sh'><span class=lang>sh</span><pre>make run</pre></div>"
    assert texts(code) == ["make run"]


@pytest.mark.parametrize(
    "code",
    [
        """<table class=highlighttable><tr><td class=linenos><div class=linenodiv><pre>1\n2</pre>
        </div></td><td class=code><div><pre>make\nrun</pre></div></td></tr></table>""",
        """<pre><span class=linenos>1</span>make\n<span class=linenos>2</span>run</pre>""",
        """<pre><span class=lineno>1 </span>make\n<span class=lineno>2 </span>run</pre>""",
        """<table class=rouge-table><td class="gutter gl"><pre class=lineno>1\n2</pre></td>
        <td class=code><pre>make\nrun</pre></td></table>""",
        """<div class=chroma><table><td><pre><span class=lnt>1\n</span><span class=lnt>2\n</span>
        </pre></td><td><pre>make\nrun</pre></td></table></div>""",
        """<pre class=chroma><span class=ln>1</span>make\n<span class=ln>2</span>run</pre>""",
        """<figure class="highlight sh"><table><td class=gutter><pre><span class=line>1</span><br>
        <span class=line>2</span></pre></td><td class=code><pre><span class=line>make</span><br
        ><span class=line>run</span></pre></td></table></figure>""",
        "<pre class='code linenos'>make\nrun</pre>",
    ],
)
def test_g35_code_is_learnt_without_the_numbers_of_its_lines(code: str) -> None:
    """So Material for MkDocs, Sphinx, Pygments, Jekyll, Hugo and Hexo write them."""
    assert texts(f"<main>{code}</main>") == ["make\nrun"]


def test_g35_the_signature_of_a_function_has_no_links_to_its_code_and_to_itself() -> None:
    """So Sphinx writes it."""
    body = """<dl><dt id=f>f(a)<a href=../f.html><span class=viewcode-link>[source]</span></a>
    <a class=headerlink href=#f title=Link>\uf0c1</a><dd>Adds.</dl><div><a class=viewcode-back
    href=f.html>[docs]</a><pre>def f(a)</pre></div><p>See <a class=headerlink href=/f>f</a>."""
    assert texts(body) == ["f(a)", "Adds.", "def f(a)", "See f."]


def test_g35_a_wiki_is_learnt_without_its_marks_for_editors() -> None:
    """Of MediaWiki. A mark such as [1] would be taken for a source of the answer."""
    body = """<h2><b id=Time>Time</b><span class=mw-editsection>[<a href=/edit>edit</a>]</span></h2>
    <p>Two days.<sup class=reference><a href=#note>[1]</a></sup>
    <div class=printfooter>Retrieved from "/wiki/Time"</div>"""
    assert texts(body) == ["Time", "Two days."]


@pytest.mark.parametrize(
    "marks",
    [
        """<div id=siteSub>From Bread Wiki</div><div id=contentSub>(Redirected from <a href=/r>Roll
        </a>)</div><a class=mw-jump-link href=#search>Jump to search</a><div id=catlinks
        class=catlinks><a href=/c>Categories</a>: <ul><li><a href=/c/bread>Bread</a></ul></div>""",
        """<div class=mw-indicators><a href=//example.org/Help>Help</a></div><ul><li
        id=footer-info-lastmod>This page was last edited on 28 November 2026.</ul>""",
        """<label for=toc role=button>Toggle the table of contents</label>""",
        """<div class=pageId><span>rolls</span></div><div id=dw__toc><h3>Table of Contents</h3>
        </div><div class=docInfo>rolls.txt · Last modified: today by Ann</div>""",
        """<sup><a href=#fn__1 id=fnt__1 class=fn_top>1)</a></sup>""",
    ],
)
def test_g35_a_wiki_is_learnt_without_the_lines_around_its_text(marks: str) -> None:
    """So skins of MediaWiki and DokuWiki write them, most of them in the main part."""
    assert texts(f"<main><h1>Rolls</h1>{marks}<p>Fresh.") == ["Rolls", "Fresh."]


@pytest.mark.parametrize(
    "kind", ["'sharedaddy sd-sharing-enabled'", "jp-relatedposts", "addtoany_share_save_container"]
)
def test_g35_the_buttons_to_share_a_post_and_what_is_related_are_no_text(kind: str) -> None:
    """Of Jetpack and AddToAny."""
    more = f"<div class={kind}><h3>Share this:</h3><ul><li>Print</ul></div>"
    assert texts(f"<main><h1>Rolls</h1><p>Fresh.</p>{more}") == ["Rolls", "Fresh."]


def test_g35_the_days_of_a_month_are_no_text() -> None:
    """WordPress shows a calendar of a blog beside each page."""
    days = "<table class=wp-calendar-table><caption>May</caption><tr><td>1<td>2</table>"
    assert texts(f"<p>Rolls.<aside><div class=wp-block-calendar>{days}</div></aside>") == ["Rolls."]


def test_g35_the_page_of_a_picture_is_no_text() -> None:
    """WordPress and DokuWiki make one for each picture, with its date and size."""
    page = "<main><h1>DSC_0042</h1><p>Published in Rolls Full size 1200 × 800</main>"
    assert texts(f"<div id=dokuwiki__detail>{page}</div>") == []
    assert read_html(f"<body class='attachment single'>{page}", URL).page.blocks == []
    assert read_html(f"<body class='post single'>{page}", URL).page.blocks


def test_a_date_behind_a_link_is_a_word_of_its_own() -> None:
    """So WordPress lists the newest posts: the date is below by a style alone."""
    posts = "<ul><li><a href=/b>For beginners</a><time datetime=2024-03-02>March 2</time></ul>"
    assert texts(posts) == ["- For beginners March 2"]


@pytest.mark.parametrize(
    "comments",
    [
        "<div class=wp-block-comments><h2>Comments</h2><p>Send me your card: TEXT</div>",
        "<div class=wp-block-comments-query-loop><h3>TEXT</h3></div>",
        "<div class=wp-block-post-comments><h3>TEXT</h3></div>",
        "<ol class=wp-block-latest-comments><li>Ann on <a href=/rolls>Rolls</a><p>TEXT</ol>",
        "<section class=widget_recent_comments><h2>Comments</h2><ul><li>TEXT</ul></section>",
        "<div id=comments class=comments-area><ol class=comment-list><li>TEXT</ol></div>",
        "<div id=reviews><h2>Reviews</h2><ol class=commentlist><li>TEXT</ol></div>",
        "<div itemscope itemtype='https://schema.org/Comment'><p>TEXT</div>",
        "<div itemprop=review><h3>TEXT</h3></div><p itemprop=review>TEXT</p>",
        "<ul><li itemprop=review itemscope itemtype='http://schema.org/Review'>TEXT</ul>",
        "<div itemscope itemtype='https://schema.org/UserReview'><p>TEXT</div>",
        "<div class=jdgm-rev-widg><div class=jdgm-rev><p>TEXT</div></div>",
        "<div class=spr-reviews><div class=spr-review><p>TEXT</div></div>",
        "<ol class='items review-items'><li>TEXT</ol>",
        "<div id=product-comments-list><div>TEXT</div></div>",
        "<div id=wpdcom class=wpd-comments-open><div id=wpd-threads>TEXT</div></div>",
    ],
)
def test_a11_comments_of_strangers_are_not_the_words_of_the_site(comments: str) -> None:
    """Of WordPress, its older themes, WooCommerce, schema.org, Judge.me, Shopify, Magento and
    PrestaShop.
    """
    found = read(f"<main><p>Rolls.</p>{comments}</main>")
    assert "TEXT" not in str(found.page.blocks)
    assert found.page.blocks[0].text == "Rolls."


def test_a11_what_readers_of_a_wiki_discuss_is_not_the_word_of_the_site() -> None:
    """Of MediaWiki, whose pages name their kind in the body."""
    talk = "<h1>Talk:Rolls</h1><div id=mw-content-text><p>TEXT</div>"
    assert "TEXT" not in str(read_html(f"<body class='mediawiki ns-1 ns-talk'>{talk}", URL).page)
    assert "TEXT" in str(read_html(f"<body class='mediawiki ns-0'>{talk}", URL).page)


@pytest.mark.parametrize(
    "review",
    [
        "<article itemscope itemtype='https://schema.org/Review'><p>TEXT</article>",
        "<div itemprop=review><h1>Boots</h1><p>TEXT</div>",
        "<h1>Boots</h1><div itemprop=review><p>TEXT<h2>In snow</h2><p>They hold.</div>",
        "<div itemprop=aggregateRating>TEXT</div>",
    ],
)
def test_a11_a_page_that_is_itself_a_review_is_the_word_of_the_site(review: str) -> None:
    assert "TEXT" in texts(f"<div itemscope itemtype='https://schema.org/Product'>{review}</div>")


def test_g32_the_owner_is_told_that_comments_are_left_out() -> None:
    comments = "<div class=comment-list><p>I will be there.</div><form class=comment-respond>Reply"
    assert read(comments).notes == ("left out, the comments of strangers",)


def test_g35_a_section_on_comments_is_text() -> None:
    """So Sphinx and Pandoc name it."""
    assert "TEXT" in texts("<section id=comments><h2>Comments</h2><p>TEXT</section>")


def test_g35_links_to_the_pages_before_and_after_are_no_text() -> None:
    assert texts(
        "<p>Rolls.<div><a rel=prev href=/a>Hours</a><a rel=next href=/b>Fees</a></div>"
    ) == ["Rolls."]


@pytest.mark.parametrize(
    "ways",
    [
        """<footer><div class=prev-next-area><a class=left-prev href=/a title="previous page">
        <p>previous<p>Hours</a></div></footer>
        <div class="page-toc tocsection onthispage">On this page</div><nav>Rolls</nav>
        <div class="tocsection sourcelink"><a href=/rolls.txt>Show Source</a></div>""",
        """<div class=related-pages><a class=next-page href=/a><div class=page-info><p>Next</p>
        <div class=title>Hours</div></div></a></div><aside class=toc-drawer><div><span
        class=toc-title>On this page</span></div><ul><li><a href="#bun">bun()</a></ul></aside>""",
        """<div class=navigation-prev><a href=/a><span>Previous</span><div>Hours</div></a></div>
        <div class=navigation-next><a href=/b>Fees</a></div>""",
        """<div class=navigationbar><ul><li><a href=/>Bakery</a></li><li>Rolls</li></ul></div>
        <p class=naviNextPrevious><a class=prevPage href=/a>Hours</a> <span>◦</span> <a
        class=nextPage href=/b>Fees</a></p>""",
    ],
)
def test_g35_the_ways_to_other_pages_of_a_manual_are_no_text(ways: str) -> None:
    """So Sphinx's themes PyData, Furo and Shibuya, and QDoc write them."""
    related = "<div class=related-pages><p>Rolls are rounder than <a href=/b>buns</a>.</div>"
    assert texts(f"<main><p>Fresh.</p>{related}{ways}</main>") == [
        "Fresh.",
        "Rolls are rounder than buns.",
    ]


@pytest.mark.parametrize(
    "lines",
    [
        """<footer><b>Sales</b><a href=https://git.example/1 class=theme-edit-this-page>Edit</a>
        <span class=theme-last-updated>Last updated on <b><time>Mar 9</time></b> by <b>Ann</b>
        </span></footer>""",
        """<p>Sales</p><header class=VPNav><p class=label>Appearance</header><div class=VPLocalNav>
        <button aria-expanded=false aria-controls=a>Menu</button></div><footer class=VPDocFooter><a
        href=https://git.example/1>Edit</a><p class=VPLastUpdated>Last updated:</footer>""",
        """<p>Sales</p><footer class=sl-flex><div class="meta sl-flex"><a href=https://git.example/1>
        Edit page</a><p>Last updated: <time>Mar 9</time></div></footer>""",
        """<p>Sales</p><div class="post-toc animated"><ol><li><a href=#a><span>1.1.</span> Fees</a>
        </ol></div>""",
    ],
)
def test_g35_lines_for_the_editors_of_a_page_and_its_contents_are_no_text(lines: str) -> None:
    """So Docusaurus, VitePress, Starlight and Hexo's NexT write them."""
    assert texts(f"<main><p>Fees</p>{lines}</main>") == ["Fees", "Sales"]


def test_g13_a_title_that_also_names_its_part_is_text() -> None:
    """So Starlight writes it."""
    aside = """<aside aria-label="Please note"><p aria-hidden=true> <svg></svg>Please note </p>
    <p>Closed in May.</aside><a aria-label=Menu href=/><i aria-hidden=true>≡</i></a>"""
    assert texts(f"<main>{aside}</main>") == ["Please note", "Closed in May."]


@pytest.mark.parametrize(
    "body",
    [
        "<section id=cookie-policy><p>TEXT</p></section>",
        "<section id=module-http.cookies><p>TEXT <button>Copy</button></p></section>",
        "<h2 id=cookies>TEXT</h2>",
        "<div class='product product_cat-cookies'><p>TEXT</p><button>Add to cart</button></div>",
        "<div class='site cookies-accepted'><h1>Shop</h1><p>TEXT</p><button>Menu</button></div>",
        "<div class='page has-cookie-bar'><main><p>TEXT</p></main></div>",
        "<main><div class=consent-management><p>TEXT</p><button>Download</button></div></main>",
        "<div class=consent-form-for-surgery><p>TEXT</p></div>",
    ],
)
def test_g13_text_with_cookie_or_consent_in_its_name_is_kept(body: str) -> None:
    assert any("TEXT" in one for one in texts(body))


@pytest.mark.parametrize(
    "body",
    [
        "<div class=CookieBanner><p>TEXT</p></div>",
        "<div id=cookie-law-info-bar><p>TEXT</p></div>",
        "<div class=cookiebar>TEXT</div>",
        "<div class='cc cookies' style='bottom: 0; position: fixed'>TEXT</div>",
        "<div id=cookie-consent><p>TEXT</p><button>Accept all</button></div>",
        "<aside class=consent><p>TEXT</p><a class='btn btn-primary'>OK</a></aside>",
        "<div role=dialog aria-label='Cookies'>TEXT</div>",
    ],
)
def test_g13_a_banner_that_asks_for_consent_is_left_out(body: str) -> None:
    assert texts(f"<p>Before.</p>{body}<p>After.</p>") == ["Before.", "After."]


@pytest.mark.parametrize(
    "body",
    [
        """<h2 class=accordion-header><button class=accordion-button data-bs-toggle=collapse
        data-bs-target=#a>Can I cancel?</button></h2>
        <div id=a class="accordion-collapse collapse"><div>Within a day.</div></div>""",
        """<h3><button aria-expanded=false aria-controls=a>Can I cancel?</button></h3>
        <div id=a role=region hidden>Within a day.</div>""",
        """<button aria-expanded=false aria-controls=a>Can I cancel?</button>
        <div id=a aria-hidden=true>Within a day.</div>""",
        """<a data-toggle=collapse href=#a>Can I cancel?</a>
        <div id=a style='display:none'>Within a day.</div>""",
        """<button role=tab aria-controls=a>Can I cancel?</button>
        <div role=tabpanel id=a hidden>Within a day.</div>""",
        "<h3>Can I cancel?</h3><div hidden=until-found>Within a day.</div>",
        "<details><summary>Can I cancel?</summary>Within a day.</details>",
        """<button class=w-full onclick=toggle(this)><b>Can I cancel?</b> </button><!-- -->
        <div class=hidden>Within a day.</div>""",
        "<button class=faq-q>Can I cancel?</button><div style='display: none'>Within a day.</div>",
        "<button>Can I cancel?</button> <p hidden>Within a day.</p>",
    ],
)
def test_g13_an_answer_that_a_click_shows_is_kept_with_its_question(body: str) -> None:
    assert texts(body) == ["Can I cancel?", "Within a day."]


@pytest.mark.parametrize("name", ["accordion", "collapsible", "faq-question", "FAQ__toggle"])
def test_g13_the_title_of_an_accordion_made_by_hand_is_kept(name: str) -> None:
    body = f"<button class={name}>Cancelling</button><div class=panel><p>Within a day.</p></div>"
    assert texts(body) == ["Cancelling", "Within a day."]


def test_g13_a_button_with_a_paragraph_is_kept() -> None:
    """Redoc's responses of an interface, of which some open no further part."""
    body = "<button><strong>404</strong> <div><p>No order has this number.</p></div></button>"
    assert texts(body) == ["404", "No order has this number."]


@pytest.mark.parametrize(
    "body",
    [
        "<button>Copy</button><p>Seen.</p>",
        "<p>Seen.</p><button>Forgot your password?</button>",
        "<button class='navbar-toggler collapsed'>Menu</button><p>Seen.</p>",
        "<button class=faq-search>Search</button><i></i><p>Seen.</p>",
    ],
)
def test_g13_a_button_that_shows_no_answer_is_left_out(body: str) -> None:
    assert texts(body) == ["Seen."]


def test_g13_other_hidden_parts_and_buttons_are_left_out() -> None:
    body = (
        "<p>Seen.</p><button>Buy</button><button aria-controls=slides>Next slide</button>"
        "<div hidden>Not seen</div><button data-bs-toggle=modal data-bs-target=#m>Open</button>"
        "<div id=m class=modal aria-hidden=true>Not seen</div>"
    )
    assert texts(body) == ["Seen."]


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        ("<b aria-hidden=true>£19.99</b><i class=visually-hidden>19 pounds 99</i>", ["£19.99"]),
        ("<i class=sr-only>Price</i> <b aria-hidden=true>£19.99</b>", ["£19.99"]),
        ("<i aria-label='19 pounds 99'><b aria-hidden=true>£19.99</b></i>", ["£19.99"]),
        ("<i aria-hidden=true>phone</i><i class=sr-only>Phone</i>", []),
        ("<b aria-hidden=true>12</b><b>Twelve</b>", ["Twelve"]),
        ("<i class=sr-only>Price</i><b aria-hidden=true hidden>£19.99</b>", []),
        (f"<i class=sr-only>Menu</i><div aria-hidden=true>{'Shirts £19.99 ' * 4}</div>", []),
    ],
)
def test_g13_numbers_are_kept_as_seen_where_a_screen_reader_gets_words(
    body: str, seen: list[str]
) -> None:
    assert texts(f"<main>{body}</main>") == seen


@pytest.mark.parametrize(
    "mark",
    [
        "<svg aria-hidden=true><path d=M0/></svg><span class=sr-only>Included in Basic</span>",
        "<img src=check.svg alt='Included in Basic'>",
        "<svg role=img aria-label='Included in Basic'><path d=M0 /></svg>",
        "<svg><title>Included in Basic</title><path d=M0 /></svg>",
        "<div><i class=icon-check role=img aria-label='Included in Basic'></i></div>",
    ],
)
def test_g13_a_mark_alone_in_a_cell_is_kept_in_words(mark: str) -> None:
    """So a table of prices says which plan has what."""
    table = f"<table><tr><td>Mail<td>{mark}<td>Fast {mark}<tr><td>{mark}<td>5 GB<td></table>"
    assert texts(table) == ["Mail | Included in Basic | Fast", "5 GB |"]


def test_g13_a_hidden_section_with_a_heading_is_text_that_a_script_shows() -> None:
    """LibreOffice's help shows the sections of one program."""
    section = "<h3>Apply styles</h3><p>Writer sets the style.</p>"
    assert texts(f"<span hidden=true>{section}</span>") == [
        "Apply styles",
        "Writer sets the style.",
    ]
    for names in ("class=modal", "id=newsletterPopup", "role=dialog", "role=menu"):
        assert texts(f"<p>Seen.</p><div hidden {names}>{section}</div>") == ["Seen."]
    assert texts("<p>Seen.</p><div style='display:none'><h3>Sold out</h3></div>") == ["Seen."]


def test_g13_the_button_of_a_menu_is_no_text_of_its_own() -> None:
    blocks = read("<button aria-expanded=false aria-controls=m>Menu</button><ul id=m>").page.blocks
    assert [(one.text, one.linked) for one in blocks] == [("Menu", True)]


def test_g13_a_page_inside_a_form_keeps_its_text() -> None:
    """So ASP.NET writes pages."""
    body = """<form id=aspnetForm action=./help.aspx method=post>
<input type=hidden name=__VIEWSTATE value=xyz><h1>Help</h1><p>We open at nine.</p>
<div><label for=q>Search</label><input id=q><select><option>All</select><button>Go</button></div>
<span>Ask at the counter.</span></form>"""
    assert texts(body) == ["Help", "We open at nine.", "Ask at the counter."]


WOOCOMMERCE = """<form class="variations_form cart" action=/hoodie/><table class=variations><tr>
<th><label for=c>Color</label></th><td><select id=c><option value="">Choose an option</option>
<option value=blue>Blue</option><option value=red selected>Red</option></select></td></tr></table>
<label class=sr-only>Hoodie quantity</label><input type=number><button>Buy</button></form>"""
SHOPIFY = """<form method=post action=/cart/add><fieldset><legend>Color</legend>
<input type=radio id=a><label for=a>Blue</label><input type=radio id=b><label for=b>Red</label>
</fieldset><button>Add to cart</button></form>"""


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (WOOCOMMERCE, ["Color | Blue, Red"]),
        (SHOPIFY, ["Color Blue Red"]),
        (
            "<form id=product_addtocart_form><label>Size</label><select><option>S<option>M",
            ["Size S, M"],
        ),
        ("<form action=/cart/add><select name=qty><option>1<option>2</select></form>", []),
        ("<form action=/cart><label>Country</label><select><option>Norway</select></form>", []),
        ("<form class=sort><label>Sort</label><select><option>By price</select></form>", []),
    ],
)
def test_the_colours_and_sizes_that_a_product_can_be_bought_in_are_kept(
    form: str, expected: list[str]
) -> None:
    assert texts(f"<main><h1>Hoodie</h1>{form}</main>") == ["Hoodie", *expected]


def test_g32_parts_that_were_left_out_or_that_a_click_shows_are_noted() -> None:
    body = """<form><p>We open at nine o'clock.</p><label>Your order number</label></form>
<h3><button aria-expanded=false aria-controls=a>Can I cancel?</button></h3>
<div id=a hidden>Within a day of the order.</div><div hidden>Only for our own staff</div>
<div class=cookie-banner>We use cookies for nothing.</div><nav>Home and other places</nav>
<noscript>Please switch on JavaScript.</noscript><p hidden>short</p>"""
    assert sorted(read(body).notes) == [
        "kept, inside a form: We open at nine o'clock. Your order number",
        "kept, shown by a click: Within a day of the order.",
        "left out, a banner: We use cookies for nothing.",
        "left out, hidden: Only for our own staff",
        "left out: Please switch on JavaScript.",
        "left out: Your order number",
    ]
    long = read(f"<div hidden>{'word ' * 99}</div>").notes
    assert long == ("left out, hidden: " + ("word " * 99)[:60] + "…",)


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0; url=/new", "https://shop.example/new"),
        ("0;URL='https://b.example/x#y'", "https://b.example/x"),
        ("5; new", "https://shop.example/new"),
        ("60", ""),
        ("0; url=javascript:x", ""),
    ],
)
def test_a_page_that_sends_its_readers_on_names_the_address(content: str, target: str) -> None:
    assert read("<p>Moved.", f'<meta http-equiv=Refresh content="{content}">').refresh == target


def questions(*pairs: tuple[str, str]) -> str:
    entities = [
        {"@type": "Question", "name": name, "acceptedAnswer": {"@type": "Answer", "text": text}}
        for name, text in pairs
    ]
    data = {"@graph": [{"@type": "FAQPage", "mainEntity": entities}]}
    return f"<script type=application/ld+json>{json.dumps(data)}</script>"


def test_g13_questions_in_json_ld_are_read_where_the_page_does_not_show_them() -> None:
    head = questions(("Can I cancel?", "<p>Within <b>a day</b>.</p>"), ("Do you ship?", "Yes."))
    found = read("<div id=root></div><script src=/app.js></script>", head)
    assert not found.needs_script
    assert [(one.text, one.level) for one in found.page.blocks] == [
        ("Can I cancel?", 2),
        ("Within a day.", 0),
        ("Do you ship?", 2),
        ("Yes.", 0),
    ]
    shown = read("<h3>Can I cancel?</h3><p>Within a day.</p>", head).page.blocks
    assert [one.text for one in shown] == ["Can I cancel?", "Within a day."]


@pytest.mark.parametrize("text", ["{", "[" * 100_000, '{"@type": "Question", "name": 1}', "null"])
def test_g13_other_json_ld_is_passed_over(text: str) -> None:
    found = read("<p>Seen.</p>", f"<script type=application/ld+json>{text}</script>")
    assert [one.text for one in found.page.blocks] == ["Seen."]


@pytest.mark.parametrize(
    "links",
    [
        "<div class=header><p>Next: <a href=/b>B</a> [<a href=/c rel=contents>C</a>]</p></div>",
        "<div class=nav-panel><p>Next: <a href=/b>B</a></p></div>",
        "<table class=header><tr><td>[<a href=/b> &lt;&lt; </a>]<td>[ &gt; ]</table>",
        "<table class=nav_table><tr><td>[<a href=/b> &lt;&lt; Basics </a>]</table>",
    ],
)
def test_the_ways_to_other_pages_of_a_texinfo_manual_are_left_out(links: str) -> None:
    """Octave, GNU manuals of Texinfo 7, Zsh, LilyPond."""
    table = "<table class=header><tr><th>Size<th>Price<tr><td>M<td>5</table>"
    assert texts(f"<h1>Types</h1>{links}<p>A list.</p>{table}{links}") == [
        "Types",
        "A list.",
        "Size | Price",
        "M | 5",
    ]
