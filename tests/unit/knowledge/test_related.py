"""G15: words of a similar meaning, for questions in other words than the pages'."""

from __future__ import annotations

import re

import pytest

from kefu.knowledge.related import _FILE, related
from kefu.knowledge.terms import question_terms


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("i want my money", "cash"),
        ("the shop is closed", "store"),
        ("is it cheap", "expens"),
        ("my screen is broken", "damag"),
        ("throw it away", "toss"),
    ],
)
def test_g15_a_question_has_words_of_a_similar_meaning(question: str, expected: str) -> None:
    assert expected in related(question_terms(question, ("en",)))


def test_g15_related_words_are_not_those_of_the_question() -> None:
    near = related(("money", "cash"))
    assert {"dollar", "paid"}.issubset(near)
    assert not {"money", "cash"}.intersection(near)
    assert len(near) == len(set(near))


def test_g15_an_unknown_word_has_no_related_words() -> None:
    assert related(("xyzzy", "退款")) == []


def test_g15_the_table_has_twelve_other_stems_for_each_stem() -> None:
    lines = _FILE.read_text(encoding="ascii").splitlines()
    assert len(lines) == 4000
    assert lines == sorted(lines)
    for line in lines:
        words = line.split(" ")
        assert len(set(words)) == 13
        assert all(re.fullmatch("[a-z]+", word) for word in words)
