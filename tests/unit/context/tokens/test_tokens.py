from __future__ import annotations

import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kefu.context.tokens import (
    COUNTERS,
    estimate_chars4,
    estimate_message_tokens,
    estimate_tokens_v1,
    utf16_length,
)

ANY_CHARACTER = st.characters(exclude_categories=())  # also unpaired surrogates
ANY_TEXT = st.text(ANY_CHARACTER)

# The first and last code points of the blocks of ideographs, and their neighbours.
HAN_EDGES = [
    ("\u33ff", False),
    ("\u3400", True),  # Extension A
    ("\u4cff", True),
    ("\u4d00", True),
    ("\u4dbf", True),
    ("\u4dc0", False),  # Yijing hexagrams, in the row where Extension A ends
    ("\u4dff", False),
    ("\u4e00", True),  # unified
    ("\u9fff", True),
    ("\ua000", False),
    ("\uf8ff", False),
    ("\uf900", True),  # compatibility
    ("\ufaff", True),
    ("\ufb00", False),
    ("\U0001ffff", False),
    ("\U00020000", True),  # Extension B
    ("\U0002f800", True),  # compatibility supplement
    ("\U00031350", True),  # Extension H
    ("\U0003ffff", True),
    ("\U00040000", False),
    ("\U0001f600", False),  # an emoji, whose high surrogate is next to those of Extension B
    ("\ud840", False),  # half of an Extension B character is no ideograph
    ("。", False),
    ("，", False),
    ("カ", False),
    ("한", False),
    ("ㄅ", False),
    ("々", False),
    ("A", False),
]


def is_han(character: str) -> bool:
    """The definition, implemented without optimization."""
    code = ord(character)
    return (
        0x3400 <= code <= 0x4DBF
        or 0x4E00 <= code <= 0x9FFF
        or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x3FFFF
    )


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("hello", 2),
        ("你好", 4),
        ("你好，我想咨询签证", 17),
        ("a", 1),
        ("a" * 10, 3),
        ("a" * 11, 4),
    ],
)
def test_v1_estimate_has_the_golden_values(text: str, tokens: int) -> None:
    """Requirements X4 and C10."""
    assert estimate_tokens_v1(text) == tokens


@pytest.mark.parametrize(("character", "han"), HAN_EDGES)
def test_v1_estimate_knows_where_ideographs_begin_and_end(character: str, han: bool) -> None:
    """X4: ten characters make 20 tokens or 3."""
    assert estimate_tokens_v1(character * 10) == (20 if han else 3)


def test_v1_estimate_counts_every_character_unicode_names_an_ideograph() -> None:
    """X4: all unified and compatibility ideographs of the Unicode standard."""
    ideographs = [
        chr(code)
        for code in range(0x110000)
        if unicodedata.name(chr(code), "").startswith(
            ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH")
        )
    ]
    assert len(ideographs) > 90_000
    assert estimate_tokens_v1("".join(ideographs)) == 2 * len(ideographs)


@given(ANY_TEXT)
def test_v1_estimate_follows_its_definition_on_any_text(text: str) -> None:
    """X4: the sum in tenths, rounded once."""
    han = sum(map(is_han, text))
    assert estimate_tokens_v1(text) == math.ceil((20 * han + 3 * (len(text) - han)) / 10)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("介绍林默", 3),
        ("他的性格？", 4),
        ("林默是28岁侦探", 5),
        ("<identity>AI</identity>", 6),
        ("", 0),
        ("S", 1),
        ("AAAA", 1),
        ("AAAAA", 2),
    ],
)
def test_message_estimate_has_the_golden_values(text: str, tokens: int) -> None:
    """Requirements X2 and X3."""
    assert estimate_message_tokens(text) == tokens


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("\ud800", 3),
        ("b\udfff", 4),
        ("\ud83d\ude00", 4),  # two code points in Python, one character for JavaScript
        ("\U0001f600", 4),
        ("\ude00\ud83d", 6),
        ("\ud83d\ud83d\ude00", 7),
        ("é\ud800你", 8),
        ("\ud800a", 4),
    ],
)
def test_surrogates_count_as_in_node(text: str, size: int) -> None:
    """X2: an unpaired one takes 3 bytes, a pair 4. Twelve copies between letters show each size."""
    assert estimate_message_tokens((text + "a") * 12) == math.ceil(12 * (size + 1) / 4)


@given(st.text())
def test_message_estimate_is_a_quarter_of_the_bytes(text: str) -> None:
    """Requirement X2."""
    size = len(text.encode())
    assert estimate_message_tokens(text) == (max(1, math.ceil(size / 4)) if text else 0)


@pytest.mark.parametrize(
    ("text", "units"),
    [("", 0), ("abc", 3), ("é", 1), ("你好", 2), ("😀", 2), ("𠮷", 2), ("\ud83d", 1)],
)
def test_utf16_length_is_the_length_javascript_sees(text: str, units: int) -> None:
    """Requirement X5."""
    assert utf16_length(text) == units


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("abcd", 1), ("abcde", 2), ("你好吗？吗", 2)]
)
def test_chars4_is_a_quarter_of_the_characters(text: str, tokens: int) -> None:
    """基础字符计数, X7."""
    assert estimate_chars4(text) == tokens


@pytest.mark.parametrize("name", COUNTERS)
@given(text=ANY_TEXT, more=ANY_CHARACTER)
def test_every_counter_counts_something_for_any_text(name: str, text: str, more: str) -> None:
    """X2, X7: 0 for an empty text, else at least 1. A longer text never counts less."""
    count = COUNTERS[name]
    assert count("") == 0
    assert count(text + more) >= max(1, count(text))
