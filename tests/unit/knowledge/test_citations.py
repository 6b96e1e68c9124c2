"""G24, G25, G27: citations and links in an answer, in pieces of any length."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kefu.knowledge.citations import LONGEST, CitationFilter
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
    ("text", "shown", "used"),
    [
        ("Yes. [1] And [2]!", "Yes. [1] And [2]!", [1, 2]),
        ("Both [1][2], or [2, 3].", "Both [1][2], or [2][3].", [1, 2, 3]),
        ("是的【1】。还有【2†source】。", "是的[1]。还有[2]。", [1, 2]),
        ("None [7], [0] or [12345678901234567890].", "None, or.", []),
        ("[1](https://evil.example/x) is a number", "[1] is a number", [1]),
        ("`a[1]` and\n```js\nb[1] = c[9]\n```\n[1]", None, [1]),
        ("An [x] and [a note] stay.", None, []),
        ("[here](https://shop.example/delivery)", None, []),
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
        (f"[a][b]\n\n[b]: {EVIL}", "[a] [b]\n\n[b] : evil.example/x"),
        (f"<a href='{EVIL}'>a</a><img src={EVIL}>", "a"),
        ("[a](javascript:alert(1)) [b](/admin) [c](data:text/html,x)", "a b c"),
        (f"`open {EVIL}", "`open evil.example/x"),
        (f"`open\n\n{EVIL}`", "`open\n\nevil.example/x`"),
        (f"\\`{EVIL}\\`", "\\`evil.example/x\\`"),
        (f"[a\\]b]({EVIL})", "[a\\]b] (evil.example/x)"),
        ("ht[9]tps://evil.example h[t](x)tps://evil.example", None),
        ("ht<a>tps://evil.example https[9]://evil.example www[9].evil.example", None),
        ("[x]<img>(mailto:a@evil.example) [x][9](mailto:a@evil.example)", None),
        ("[1]: https://evil.example\n[1]: /x", None),
        (f"[{EVIL}](x) ![{EVIL}](x) ![<img src=x>](x)", "evil.example/x evil.example/x img src=x"),
        (f"[`](x) `{EVIL}`", None),
        (f"[a\\](x)`{EVIL}`", None),
        (f"`a\nb` {EVIL} `c`", "`a\nb` evil.example/x `c`"),
        (f"```{EVIL}`\n```\n", "```evil.example/x`\n```\n"),
        (f"<b x=`>{EVIL}`", "evil.example/x`"),
        (f"| `a | {EVIL}` |", "| `a | evil.example/x` |"),
    ],
)
def test_no_link_and_no_image_leads_to_another_site(text: str, shown: str | None) -> None:
    assert shown is None or filtered(text)[0] == shown
    assert filtered(*text) == filtered(text)
    assert not re.search(
        r"https?://evil|www\.evil|^\[1\]:", _outside_code(filtered(text)[0].lower())
    )
    assert "](" not in filtered(*text)[0]


def test_a_link_that_is_too_long_to_wait_for_is_no_link() -> None:
    text = f"[{'a' * LONGEST}]({EVIL})"
    assert filtered(text)[0] == "a" * LONGEST
    assert filtered(*text)[0] == f"[{'a' * LONGEST}] (evil.example/x)"


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
        [*"`[]()!<>\\【】\n 0129h", "[1]", "](", "http", "s://", EVIL, "www.", "a b", "```\n", "![",
         "https://shop.example/customs", "[0]", "<img ", "<a>", "ht", "tps:", "//",
         "[9]", "[t](x)", "text", "\n\n", "[x]: "]
    ),
    max_size=24,
)  # fmt: skip


@given(PIECES)
@example(["`", EVIL, "\\", "`"])
@example(["h", EVIL, "ttps://evil.example"])
@example([EVIL, "[", EVIL])
@example(["<", "!", "`", ">"])
def test_pieces_of_any_length_give_the_same_answer_without_a_foreign_link(
    pieces: list[str],
) -> None:
    text = "".join(pieces)
    shown = filtered(text)
    assert filtered(*pieces) == shown
    assert filtered(*text) == shown
    assert not re.search(r"\]\((?!\s*<?https://shop\.example)[^)]*\)", _outside_code(shown[0]))
    assert not re.search(r"(?<![\w/:.-])https?://(?!shop\.example)\w", _outside_code(shown[0]))


CODE = re.compile(
    r"^ {0,3}(```+)[^`\n]*\n(?s:.*?)(?:^ {0,3}\1`*[ \t]*$|\Z)"  # a code block
    r"|\\[^\n]"  # an escaped character
    r"|(?<!`)(`+)(?!`)[^\n]*?(?<!`)\2(?!`)"  # inline code
    r"|`+",
    re.MULTILINE,
)


def _outside_code(text: str) -> str:
    return CODE.sub("", text)


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
