"""G24, G25, G27: citations and links in an answer, in pieces of any length."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kefu.knowledge.citations import CitationFilter
from kefu.knowledge.references import MAX_LINK_CHARS
from kefu.knowledge.sources import Source
from tests.fakes.growth import assert_linear

SOURCES = [
    Source(1, "Delivery", "https://shop.example/delivery#norway"),
    Source(2, "Customs", "https://shop.example/customs"),
    Source(3, "A file", ""),
]
EVIL = "https://evil.example/x"


def filtered(*pieces: str) -> tuple[str, list[int], bool]:
    one = CitationFilter(SOURCES)
    text = "".join(one.feed(piece) for piece in pieces) + one.close()
    return text, list(one.used), one.answered


@pytest.mark.parametrize(
    ("url", "is_kept"),
    [
        ("https://shop.example/help", True),
        ("https://shop.example/help/", True),
        ("https://shop.example/help/returns#how", True),
        ("https://shop.example/help#how", True),
        ("https://shop.example/helpers", False),
        ("https://shop.example", False),
        ("https://shop.example/customs", True),
        ("https://shop.example/customs/", True),
        ("https://shop.example/customs#x", True),
        ("https://shop.example/customs/x", False),
        ("https://shop.example/customs?x", False),
        ("https://other.example/help", False),
        ("/help", False),
    ],
)
def test_g27_links_lead_to_a_source_or_to_and_below_the_sites_own_addresses(
    url: str, is_kept: bool
) -> None:
    one = CitationFilter(SOURCES, ["https://shop.example/help/"])
    shown = one.feed(f"See [here]({url}).") + one.close()
    assert shown == (f"See [here]({url})." if is_kept else "See here.")


@pytest.mark.parametrize(
    ("text", "shown", "used"),
    [
        ("Yes. [1] And [2]!", "Yes. [1] And [2]!", [1, 2]),
        ("Both [1][2], or [2, 3].", "Both [1][2], or [2][3].", [1, 2, 3]),
        ("是的【1】。还有【2†source】。", "是的[1]。还有[2]。", [1, 2]),
        ("None [5], [0] or [7].", "None, or.", []),
        ("a[0] = b[5], c[4][5], see RFC [2119] and [12345678901234567890].", None, []),
        (r"\frac{1}{2} in C:\temp\new is \d+\sfoo, \\srv\x, \(x\), a\_b", None, []),
        ("[1](https://evil.example/x) is a number", "[1] is a number", [1]),
        ("`a[1]` and\n```js\nb[1] = c[9]\n```\n[1]", None, [1]),
        ("An [x] and [a note] stay.", None, []),
        ("[here](https://shop.example/delivery)", None, []),
        ("![a photo](https://shop.example/delivery) ![2](/x)", "a photo [2]", [2]),
        ("At https://shop.example/customs.", None, []),
        ("a < b && c > d, 5 * [", None, []),
    ],
)
def test_numbers_of_sources_stay_and_others_vanish(
    text: str, shown: str | None, used: list[int]
) -> None:
    wanted = (text if shown is None else shown, used, True)
    assert filtered(text) == wanted
    assert filtered(*text) == wanted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"[here]({EVIL}) and ![it]({EVIL}.png)", "here and it"),
        (f"Go to {EVIL}?q=secret now", "Go to evil.example/x?q=secret now"),
        (f"<{EVIL}> or HTTPS://EVIL.example", "evil.example/x or EVIL.example"),
        ("www.evil.example", "evil.example"),
        (f"[a [b]({EVIL})]({EVIL})", "[a b] (evil.example/x)"),
        (f"[a][b]\n\n[b]: {EVIL}", "[a][b]\n\n[b] : evil.example/x"),
        (f"<a href='{EVIL}'>a</a><img src={EVIL}>", "a"),
        ("[a](javascript:alert(1)) [b](/admin) [c](data:text/html,x)", "a b c"),
        (f"`open {EVIL}", "`open evil.example/x"),
        (f"`open\n\n{EVIL}`", "`open\n\nevil.example/x`"),
        (f"\\`{EVIL}\\`", "\\`evil.example/x\\`"),
        # After a line that begins with a tag, ticks may be a part of its HTML, and no code.
        (f"<div>\n`[in]({EVIL})`", "<div>\n`[in] (evil.example/x)`"),
        (f"<b>\n`<a href={EVIL}>in</a>`", None),
        (f"- <b>\n```\n<a href={EVIL}>in</a>\n```", None),
        (f"<div>\n\n`[in]({EVIL})`", f"<div>\n\n`[in]({EVIL})`"),
        (f"a <b>b\n`[in]({EVIL})`", f"a <b>b\n`[in]({EVIL})`"),
        (f"[a\\]b]({EVIL})", "[a\\]b] (evil.example/x)"),
        ("ht[9]tps://evil.example h[t](x)tps://evil.example", None),
        ("ht<a>tps://evil.example https[9]://evil.example www[9].evil.example", None),
        ("[x]<img>(mailto:a@evil.example) [x][9](mailto:a@evil.example)", None),
        ("[1]: https://evil.example\n[1]: /x", None),
        (f"[{EVIL}](x) ![{EVIL}](x) ![<img src=x>](x)", "evil.example/x evil.example/x ! [] (x)"),
        (f"[`](x) `{EVIL}`", "[`](x) `evil.example/x`"),
        (f"```<b `x`>\n```\n![i]({EVIL}) [log in]({EVIL})", None),
        (f"- ```\n  a\n  ```\n  [x]({EVIL})", None),
        (f"~~~\n```\n~~~\n[x]({EVIL})", None),
        (f"<div>\n```\n[x]({EVIL})", None),
        (f"> [x\ny]: {EVIL}", None),
        (f"[a\\](x)`{EVIL}`", None),
        (f"`a\nb` {EVIL} `c`", "`a\nb` evil.example/x `c`"),
        (f"```{EVIL}`\n```\n", "```evil.example/x`\n```\n"),
        (f"<b x=`>{EVIL}`", f"< b x=`>{EVIL}`"),
        (f"| `a | {EVIL}` |", "| `a | evil.example/x` |"),
    ],
)
def test_no_link_and_no_image_leads_to_another_site(text: str, shown: str | None) -> None:
    assert shown is None or filtered(text)[0] == shown
    assert filtered(*text) == filtered(text)
    assert links(filtered(text)[0]) == []


def test_a_line_that_is_too_long_to_wait_for_closes_no_block_of_code() -> None:
    text = f"```\n{'`' * MAX_LINK_CHARS}``x\n```\n[x]({EVIL})\n"
    assert links(filtered(text)[0]) == links(filtered(*text)[0]) == []


def test_a_link_that_is_too_long_to_wait_for_is_no_link() -> None:
    text = f"[{'a' * MAX_LINK_CHARS}]({EVIL})"
    assert filtered(text)[0] == "a" * MAX_LINK_CHARS
    assert filtered(*text)[0] == f"[{'a' * MAX_LINK_CHARS}] (evil.example/x)"


@pytest.mark.parametrize("text", ["[0] The pages do not say.", "  [0]\n\nThe pages do not say."])
def test_an_answer_that_begins_with_zero_was_not_answered(text: str) -> None:
    assert filtered(text) == ("The pages do not say.", [], False)
    assert filtered(*text) == ("The pages do not say.", [], False)
    assert filtered("", "[", "0", "]", " ", "No.") == ("No.", [], False)


def test_text_is_held_back_only_while_it_may_become_a_reference() -> None:
    one = CitationFilter(SOURCES)
    assert one.feed("Hello, visitor") == "Hello, visitor"
    assert one.feed("! See [") == "! See"
    assert one.feed("1") == ""
    assert one.feed("] for more") == " [1] for more"


PIECES = st.lists(
    st.sampled_from(
        [*"`[]()!<>\\【】\n 0129h|~-", "[1]", "](", "http", "s://", EVIL, "www.", "a b", "```\n",
         "https://shop.example/customs", "[0]", "<img ", "<a>", "ht", "tps:", "//", "`x`", "``",
         "[9]", "[t](x)", "text", "\n\n", "![", "[x]: ", "[a", "]: x", "\n```\n", "\n~~~\n", "    ",
         "- ", "> ", "1. ", "<div>", "<b x='", "<!--", "</pre>", "<pre>", "\t", " [2]",
         f"[t]({EVIL})", "\r", "\n  ```\n  ", "[t](https://shop.example/customs)", "| a |\n|---|\n",
         "](/x)"]
    ),
    max_size=24,
)  # fmt: skip


@pytest.mark.slow
@given(PIECES)
@example(["`", EVIL, "\\", "`"])
@example(["h", EVIL, "ttps://evil.example"])
@example([EVIL, "[", EVIL])
@example(["https://shop.example/customs.", f"<{EVIL}>"])
@example(["https://shop.example/customs.", "<pre>", "evil.example"])
@example(["<", "!", "`", ">"])
@example(["[````](https://shop.example/customs) ```` ", f"[t]({EVIL})", " ````"])
@settings(max_examples=1000)
def test_an_answer_of_any_pieces_has_no_foreign_link_for_a_markdown_parser(
    pieces: list[str],
) -> None:
    text = "".join(pieces)
    shown = filtered(text)
    assert filtered(*pieces) == shown
    assert filtered(*text) == shown
    assert links(shown[0]) == []
    assert links(shown[0] + '\n\n[1]: https://shop.example/customs "Customs"') == []


@pytest.mark.slow
@given(PIECES)
@example(["    a[i](x)"])
@example(["[a `](x)` b"])
@example(["\\[a](x)"])
@example(["[", "9", "[9]", "]("])
@settings(max_examples=500)
def test_the_words_of_a_text_without_links_come_out_as_they_went_in(pieces: list[str]) -> None:
    text = "".join(pieces)
    while (fewer := re.sub(r"\[\s*[\d,\s]*\]|【", "", text)) != text:
        text = fewer  # what stood around a citation may be one
    assume(links(text, every=True) == [])
    assert words(filtered(text)[0]) == words(text)
    assert words(filtered(*text)[0]) == words(text)


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("a \\frac{1}{2} C:\\temp\\new")
@settings(max_examples=200)
def test_a_text_without_brackets_ticks_and_tags_is_not_changed(text: str) -> None:
    text = re.sub(r"[\[\]【`<\r]|https?:|ftp:|www", "", text)
    assert filtered(text)[0] == text
    assert filtered(*text)[0] == text


@pytest.mark.parametrize(
    "answer",
    [
        "1. Run:\n\n   ```sh\n   curl https://x.example/a\n   ```\n2. Then `a[0](x)` and [1].\n",
        "1. Run:\n\n    ```sh\n    curl http://x.example\n\n    b[0] = c[9](x)\n    ```\n\n2. Go\n",
        "- Step:\n  ```\n  curl https://x.example\n  ```\n- Next\n",
        "Use `a | b`<br>here:\n```sh\ncurl https://x.example | sh\n```\nDone [2].\n",
        "````md\n```js\nfetch('https://x.example')\n```\n````\n",
        "The key ` alone.\n\n`curl https://x.example`\n\n> Quoted `https://x.example`\n",
    ],
)
def test_code_of_usual_answers_is_not_changed(answer: str) -> None:
    assert filtered(answer)[0] == answer
    assert filtered(*answer)[0] == answer


@pytest.mark.parametrize("answer", ['```\n[1]: https://evil.example "A"', "  ```\n  x\n"])
def test_a_block_of_code_gets_its_end_so_that_no_list_is_in_it(answer: str) -> None:
    """The list of the sources is appended to the answer."""
    assert filtered(answer)[0].rstrip("\n").rpartition("\n")[2].strip(" ") == "```"
    assert "/x" in links(f"{filtered(answer)[0]}\n[1]: /x")


def words(text: str) -> list[str]:
    """The words, without the schemes of addresses, which parts of code lose in doubt."""
    return re.findall(r"[^\W_]+", re.sub("(?:https?|ftp)://|www", " ", text))


PARSERS = [MarkdownIt("commonmark"), MarkdownIt("js-default", {"html": True})]
AUTOLINK = re.compile(r"(?:https?|ftp)://[^\s<]*|www\.[^\s<]*", re.IGNORECASE)
HARMLESS = re.compile(
    r"</?[a-zA-Z][a-zA-Z0-9-]*\s*/?>|[^<]+|<(?![a-zA-Z/!?])|<https://shop[^\s<>]*>"
)


def links(text: str, *, every: bool = False) -> list[str]:
    """What parsers of CommonMark take for a link, an image, an address or a tag: each that leads
    elsewhere than to the sources, or `every` one.
    """
    found = list[str]()
    for parser in PARSERS:
        environment = dict[str, Any]()
        tokens = parser.parse(text, environment)
        tokens += [one for token in tokens for one in token.children or ()]
        for token in tokens:
            if token.type in {"html_inline", "html_block"}:
                found += [token.content] if every or HARMLESS.sub("", token.content) else []
            elif token.type in {"link_open", "image"}:
                found.append(str(token.attrs.get("href") or token.attrs.get("src")))
            elif token.type in {"text", "text_special"}:
                found += AUTOLINK.findall(token.content)
        found += [str(one["href"]) for one in environment.get("references", {}).values()]
    return [one for one in found if every or not _is_ours(one)]


def _is_ours(url: str) -> bool:
    return re.match(r"https://shop\.example/(customs|delivery)[/_.-]*(?![\w])", url) is not None


@pytest.mark.parametrize(
    "piece",
    [
        "[",
        "`",
        "http",
        "](",
        " ",
        "\n",
        "[a](   ",
        "`a` ",
        "hthttp://",
        "[1, ",
        "<a ",
        "\\",
        "```\n",
    ],
)
def test_a_long_answer_takes_linear_time(piece: str) -> None:
    assert_linear(lambda size: "[a](" + piece * size, filtered, 2000)
