"""G36: words with one typo."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kefu.knowledge.spelling import Spelling, differs_by_one, half, nearest, words

WORDS = st.text("abcdeéж", min_size=5, max_size=12)


@pytest.mark.parametrize(
    ("word", "differs"),
    [
        ("returns", False),
        ("retrns", True),
        ("returnss", True),
        ("rwturns", True),
        ("retunrs", True),
        ("eturns", True),
        ("erturns", True),
        ("returnsab", False),
        ("rteunrs", False),
        ("retu", False),
    ],
)
def test_g36_one_typo_is_told_from_two(word: str, differs: bool) -> None:
    if word != "returns":
        assert differs_by_one("returns", word) is differs
        assert differs_by_one(word, "returns") is differs


@given(WORDS, st.data())
def test_g36_one_typo_leaves_the_first_or_the_last_half_of_a_word(
    word: str, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(word) - 2))
    other = data.draw(st.sampled_from("abcxyz"))
    typo = data.draw(
        st.sampled_from(
            [
                word[:at] + word[at + 1 :],
                word[:at] + other + word[at:],
                word[:at] + other + word[at + 1 :],
                word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            ]
        )
    )
    size = half(typo)
    assert word == typo or differs_by_one(word, typo)
    assert word[:size] == typo[:size] or word[-size:] == typo[-size:]


def test_g36_the_most_frequent_word_is_meant() -> None:
    near = [Spelling("form", 2), Spelling("forms", 9), Spelling("farms", 3), Spelling("fort", 99)]
    assert nearest("fforms", near) == "forms"
    assert nearest("formts", near) == "forms"
    assert nearest("boots", near) == ""


def test_g36_words_of_letters_are_compared() -> None:
    assert list(words("Return within 30days: NO-2026, Rückgabe 退货政策说明 abc")) == [
        "return",
        "within",
        "rückgabe",
    ]
