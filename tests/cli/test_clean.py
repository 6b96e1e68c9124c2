"""T21: output of a model or a tool cannot control the terminal."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kefu.terminal.clean import Cleaner, clean, one_line
from tests.fakes.growth import assert_linear

DRIVING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

ATTACKS = {
    "\x1b[2J\x1b[Hgone": "gone",
    "a\x1b[31mred\x1b[0m": "ared",
    "\x1b]0;a title\x07text": "text",
    "\x1b]8;;https://evil.example\x1b\\bank\x1b]8;;\x1b\\": "bank",
    "\x1b]8;;https://evil.example\x07bank\x1b]8;;\x07": "bank",
    "\x1b]52;c;cm0gLXJmIH4K\x07hi": "hi",
    "\x9d52;c;cm0gLXJmIH4K\x9chi": "hi",
    "\x9b2Jhi": "hi",
    "\x1bP+q544e\x1b\\hi": "hi",
    "\x1b_Gf=24;AAAA\x1b\\hi": "hi",
    "\x1b^pm\x1b\\\x1bXsos\x1b\\hi": "hi",
    "\x1bchi": "hi",
    "\x1b(0hi": "hi",
    "over\rwritten\b\b": "overwritten",
    "bell\x07 null\x00 del\x7f": "bell null del",
    "dos\r\nlines\u2028more": "dos\nlines\nmore",
    "\u202egnp.exe\u202c": "gnp.exe",
    "tag\U000e0041": "tag",
    "tabs\tand\nlines, 你好 🎉 שלום": "tabs\tand\nlines, 你好 🎉 שלום",
    # Of an unterminated sequence only the opening characters are removed.
    "\x1b]8;;rest of the answer\nnext": "]8;;rest of the answer\nnext",
    "\x1b]52;c;" + "A" * 5000 + "\x07": "]52;c;" + "A" * 5000,
    "\x1b": "",
    "\x1b\x1b[31m[31mx": "[31mx",
}


@pytest.mark.parametrize(("text", "shown"), ATTACKS.items())
def test_sequences_go_and_text_stays(text: str, shown: str) -> None:
    """T21: in one piece, and divided at any position."""
    assert clean(text) == shown
    for size in (1, 2, 3, 7):
        cleaner = Cleaner()
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert "".join(map(cleaner.feed, pieces)) + cleaner.end() == shown


@given(
    st.lists(
        st.text(alphabet="\x1b\x9b\x9d\x9c\x07[]P\\8;52c0m\r\n\u202e aZ", max_size=12)
        | st.text(max_size=8)
    )
)
def test_whatever_comes_nothing_that_drives_goes_out(pieces: list[str]) -> None:
    """Requirements T21 and T32."""
    cleaner = Cleaner()
    shown = "".join(map(cleaner.feed, pieces)) + cleaner.end()
    assert not DRIVING.search(shown)
    shown.encode()  # raises for invalid characters


def test_ordinary_text_is_shown_at_once() -> None:
    cleaner = Cleaner()
    assert cleaner.feed("Hello, ") == "Hello, "
    assert cleaner.feed("world\x1b[3") == "world"
    assert cleaner.feed("1m!") == "!"


@pytest.mark.parametrize("unit", ["\x1b", "\x1b]", "\x1b[", "\x9d", "\x1b]8;;", "\x1b[0;", "a"])
def test_the_time_grows_with_the_length_alone(unit: str) -> None:
    """T31: a megabyte of opening characters, in one piece and in many."""

    def both_ways(text: str) -> None:
        clean(text)
        cleaner = Cleaner()
        for at in range(0, len(text), 1000):
            cleaner.feed(text[at : at + 1000])

    assert_linear(lambda size: unit * (size // len(unit)), both_ways, 1_000_000)


def test_one_line_is_one_line() -> None:
    assert one_line("a\n b\t\x1b[31mc", 20) == "a b c"
    assert one_line("word " * 20, 10) == "word word…"
