"""Removes from a page the parts that its readers do not see or do not read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

_BUY = ".cart, [action*='cart/add'], [id*=addtocart i], [id*=add-to-cart i]"
"""The forms of WooCommerce, Shopify, Magento and PrestaShop to put a product into the cart."""

_NEVER = (
    "script, style, noscript, template, iframe, object, svg, canvas, select, datalist, dialog, nav,"
    " [role=navigation], [role=search], [role=dialog], [role=alertdialog], .sr-only,"
    " .visually-hidden, [role=doc-toc], .toc, #toc, .navheader, .navfooter,"
    f" form:not({_BUY}) :is(label, legend), form textarea, a[rel~=prev i], a[rel~=next i],"
    " [itemtype$='schema.org/BreadcrumbList'], :is(.breadcrumb, .breadcrumbs):not(:has(h1, h2)),"
    " [class*=language-] > .lang, .mw-editsection, sup.reference, .printfooter, #siteSub,"
    " #contentSub, .mw-jump-link, .catlinks, label[role=button], .pageId, .docInfo, #dw__toc,"
    " #dokuwiki__detail, .mw-indicators, #footer-info-lastmod, .fn_top, .wp-calendar-table,"
    " body.attachment main, .sharedaddy, .jp-relatedposts, .addtoany_share_save_container,"
    " .nav-panel, .nav_table, table.header:has(a[href]), .header:has(a[rel~=contents]),"
    " .linenos:not(pre), .lineno, .chroma .ln, .chroma .lnt,"
    " a.headerlink[href^='#'], .viewcode-link, .viewcode-back, .prev-next-area,"
    " .related-pages:has(.page-info), .toc-title, .onthispage, .sourcelink,"
    " aside li > a[href^='#'], .navigation-prev, .navigation-next, .nav-previous, .nav-next,"
    " .navigationbar, .naviNextPrevious,"
    " .theme-edit-this-page, .theme-last-updated, .VPNav, .VPLocalNav, .VPDocFooter,"
    " footer > .meta.sl-flex, .post-toc, figure.highlight .gutter"
)
_HIDDEN = "[hidden], [aria-hidden=true], [style]"
_HIDING = {"hidden", "aria-hidden", "style"}
_SPOKEN = ":is(.sr-only, .visually-hidden)"
_SEEN = (
    f"[aria-hidden=true]:has(+ {_SPOKEN}), {_SPOKEN} + [aria-hidden=true],"
    " [aria-label] > [aria-hidden=true]"
)
"""What a reader sees and a screen reader gets in words, such as a price or an icon."""
_MARKS = "img[alt], [role=img][aria-label], svg title, .sr-only, .visually-hidden"
_MARKED = f":is(td, th) + td:has({_MARKS})"
"""Cells with a picture that has words. The first cell of a row may be the icon of a note."""
_NO_DISPLAY = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_FIXED = re.compile(r"position\s*:\s*fixed", re.IGNORECASE)

_COOKIE = "[id*=cookie i], [class*=cookie i], [id*=consent i], [class*=consent i]"
_BANNER = re.compile(
    r"banner|dialog|message|modal|notice|overlay|pop-?up|toast|(?<![a-z])bar(?![a-z])"
    r"|(cookies?|consent)bar"
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "summary"})
_NO_BANNER = _HEADINGS | {"html", "body", "main", "article", "section", "li"}
_ARTICLE = re.compile(r"product|categor|item|recipe|post|tag")
_OF_TEXT = frozenset({"noscript", "dialog", "alertdialog", "label", "legend", "template"})
"""Parts that are left out and may have sentences, unlike menus and scripts."""
_LONGEST_SEEN = 40
"""Characters of a price. Longer parts are windows and menus."""
_SHORTEST_NOTE = 12
_LONGEST_NOTE = 60
"""Characters of a part's text."""
_LONGEST_BANNER = 600
"""Maximum characters of a banner that is recognized only by its button."""

_COMMENTS = (
    ".wp-block-comments, .wp-block-comments-query-loop, .wp-block-post-comments,"
    " .wp-block-latest-comments, .widget_recent_comments, .comments-area, .comment-respond,"
    " .comment-list, .commentlist, #wpdcom, .ns-talk #mw-content-text, .comment-wrapper,"
    " [itemtype$='schema.org/Comment'], [typeof~='schema:Comment'],"
    " [itemtype$='schema.org/UserReview'], .jdgm-rev, .spr-review, .stamped-review, .yotpo-review,"
    " .review-items, #product-comments-list, .product-detail-review-item"
)
"""Of WordPress, WooCommerce's reviews, wpDiscuz, MediaWiki, Drupal, schema.org, Judge.me, Shopify,
Stamped, Yotpo, Magento, PrestaShop and Shopware.
"""
_REVIEW = "[itemprop~=review]"

_CONTROLS = "[aria-controls][aria-expanded], [aria-controls][role=tab]" + "".join(
    f", [data-{prefix}toggle={kind}]"
    for prefix in ("", "bs-")
    for kind in ("collapse", "tab", "pill")
)
_ASKS = re.compile("accordion|collapsible|faq|question")
"""In the names of buttons above answers, in pages made by hand."""
_TARGETS = ("aria-controls", "data-bs-target", "data-target", "href")
_TAB_LISTS = "[role=tablist], .tabbed-labels, .vp-code-group > .tabs"
_PANELS = "[role=tabpanel], .tabbed-block, .vp-code-group > .blocks > div"
"""Of ARIA, Material for MkDocs and VitePress."""


def remove_unseen(tree: LexborHTMLParser) -> list[str]:
    """A part that becomes visible on a click, such as an answer below its question, stays.

    Returns notes about parts with text: those that were left out, and those that only a click
    shows.
    """
    controls = tree.css(_CONTROLS)
    questions = {node.mem_id for node in (*controls, *_show_answers(tree))}
    shown = {name for node in controls for name in _targets(node)}
    for tabs in _inner_first(tree, _TAB_LISTS):
        _name_panels(tabs)
    _show_seen(tree)
    _show_choices(tree)
    _show_marks(tree)
    notes = _remove_comments(tree)
    notes += [_note("kept, inside a form", node) for node in tree.css("form")]
    notes += _remove_banners(tree)
    notes += _remove_controls(tree, questions)
    notes += _remove_hidden(tree, shown)
    return [note for note in notes if note]


def _show_seen(tree: LexborHTMLParser) -> None:
    """Of a short text that a screen reader gets in words, a number, such as a price, and the title
    of a part stay.
    """
    for node in tree.css(_SEEN):
        label = node.parent.attributes.get("aria-label") if node.parent else None
        text = node.text(strip=True)
        has_number = len(text) <= _LONGEST_SEEN and any(map(str.isdigit, text))
        if has_number or text == label:
            del node.attrs["aria-hidden"]


def _show_marks(tree: LexborHTMLParser) -> None:
    """The words of a picture alone in a cell of a table, such as a check mark, become text."""
    for cell in tree.css(_MARKED):
        text = cell.text(strip=True)
        mark = next((one for one in cell.css(_MARKS) if one.text(strip=True) == text), None)
        named = mark.attributes if mark else {}
        words = named.get("alt") or named.get("aria-label") or text
        if mark and cell.first_child and len(words) <= _LONGEST_SEEN:
            cell.first_child.insert_before(words)


def _show_answers(tree: LexborHTMLParser) -> Iterator[LexborNode]:
    """The buttons with text: titles of accordions that name no part. The part below is shown."""
    for node in tree.css("button"):
        if node.css_first("p"):
            yield node
        answer = node.next
        while answer is not None and not answer.is_element_node:
            answer = answer.next
        named = _ASKS.search((node.attributes.get("class") or "").lower())
        if (named or any(mark in node.text() for mark in "?？؟")) and answer and answer.text():
            yield node
            if _is_hidden(answer):
                for name in _HIDING & set(answer.attributes):
                    del answer.attrs[name]


def _show_choices(tree: LexborHTMLParser) -> None:
    """The colours and sizes in which a product can be bought become text."""
    for node in tree.css(f"form:is({_BUY}) select:not([name*=qty i], [name*=quantity i])"):
        options = node.css("option:not([value=''], [disabled])")
        node.replace_with(f" {', '.join(' '.join(one.text().split()) for one in options)} ")


def _name_panels(tabs: LexborNode) -> None:
    """Put the name of each tab before the text that it shows, and remove the row of names."""
    names = tabs.css("[role=tab]") or tabs.css("label")
    for around in (tabs.parent, tabs.parent and tabs.parent.parent):
        panels = around.css(_PANELS) if around else []
        inner = {node.mem_id for panel in panels for node in panel.css(_PANELS)[1:]}
        panels = [panel for panel in panels if panel.mem_id not in inner]
        if panels and len(panels) == len(names) and tabs.css_first(_PANELS) is None:
            for name, panel in zip(names, panels, strict=True):
                _name_panel(" ".join(name.text().split()), panel)
            tabs.decompose()
            return


def _name_panel(name: str, panel: LexborNode) -> None:
    heading = panel.css_first("h1, h2, h3, h4, h5, h6")
    if panel.first_child and not (heading and heading.text().strip() == name):
        panel.first_child.insert_before(f"{name}: ")


def _remove_banners(tree: LexborHTMLParser) -> Iterator[str]:
    for node in filter(_is_banner, _inner_first(tree, _COOKIE)):
        yield _note("left out, a banner", node)
        node.decompose()


def _remove_comments(tree: LexborHTMLParser) -> list[str]:
    """What strangers wrote below a page is not the site's own word."""
    reviews = tree.css(_REVIEW)
    articles = {node.mem_id for node in reviews if _is_article(node, len(reviews) == 1)}
    comments = _inner_first(tree, f"{_COMMENTS}, {_REVIEW}")
    comments = [node for node in comments if node.mem_id not in articles]
    for node in comments:
        node.decompose()
    return ["left out, the comments of strangers"] if comments else []


def _is_article(review: LexborNode, is_only: bool) -> bool:
    """Whether a review of a product is the page's own article about it."""
    is_long = len(review.css("h2, p")) > 2
    return review.css_first("h1") is not None or (is_only and is_long)


def _remove_controls(tree: LexborHTMLParser, questions: set[int]) -> Iterator[str]:
    for node in _inner_first(tree, _NEVER):
        if node.tag in _OF_TEXT or node.attributes.get("role") in _OF_TEXT:
            yield _note("left out", node)
        node.decompose()
    for node in _inner_first(tree, "button"):
        if node.mem_id not in questions and not _is_inside(node, _HEADINGS):
            node.decompose()


def _remove_hidden(tree: LexborHTMLParser, shown: set[str]) -> Iterator[str]:
    for node in _inner_first(tree, _HIDDEN):
        if _is_panel(node, shown):
            yield _note("kept, shown by a click", node)
        elif _is_hidden(node) and _is_section(node):
            yield _note("kept, shown by a script", node)
        elif _is_hidden(node):
            yield _note("left out, hidden", node)
            node.decompose()


def _note(kind: str, node: LexborNode) -> str:
    """Empty for a part with little text, such as a button."""
    text = " ".join(node.text(separator=" ").split())
    shown = text if len(text) <= _LONGEST_NOTE else f"{text[:_LONGEST_NOTE]}…"
    return f"{kind}: {shown}" if len(text) >= _SHORTEST_NOTE else ""


def _inner_first(tree: LexborHTMLParser, selector: str) -> list[LexborNode]:
    """In this order no node is used after it was removed with the node around it."""
    return tree.css(selector)[::-1]


def _targets(node: LexborNode) -> list[str]:
    """The ids of the parts that a button or a tab shows."""
    return [
        name.removeprefix("#")
        for attribute in _TARGETS
        for name in (node.attributes.get(attribute) or "").split()
    ]


def _is_hidden(node: LexborNode) -> bool:
    attributes = node.attributes
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or _NO_DISPLAY.search(attributes.get("style") or "") is not None
    )


def _is_panel(node: LexborNode, shown: set[str]) -> bool:
    attributes = node.attributes
    return (
        attributes.get("id") in shown
        or attributes.get("role") == "tabpanel"
        or attributes.get("hidden") == "until-found"
    )


def _is_section(node: LexborNode) -> bool:
    """Whether a hidden part is a section that a script shows, such as the help for one product."""
    names = f"{node.attributes.get('id') or ''} {node.attributes.get('class') or ''}"
    is_window = _BANNER.search(_CAMEL.sub("-", names).lower()) or "dialog" in names
    has_heading = node.css_first("h2, h3, h4, h5, h6") is not None
    has_text = node.css_first("p, li, td, dd, pre") is not None
    return has_heading and has_text and not is_window and node.attributes.get("role") is None


def _is_banner(node: LexborNode) -> bool:
    """Whether an element with "cookie" or "consent" in its name asks for consent.

    A policy, an article of a bakery or a page around which a script put its mark is text.
    """
    names = f"{node.attributes.get('id') or ''} {node.attributes.get('class') or ''}"
    names = _CAMEL.sub("-", names).lower()
    if node.tag in _NO_BANNER or node.css_first("main, article, h1, header, footer, nav"):
        return False
    if _BANNER.search(names) or _FIXED.search(node.attributes.get("style") or ""):
        return True
    if _ARTICLE.search(names) or _is_inside(node, frozenset({"main", "article"})):
        return False
    has_button = node.css_first("button, [role=button], input, [class*=btn], [class*=button]")
    return has_button is not None and len(node.text()) < _LONGEST_BANNER


def _is_inside(node: LexborNode, tags: frozenset[str]) -> bool:
    around = node.parent
    while around is not None:
        if around.tag in tags:
            return True
        around = around.parent
    return False
