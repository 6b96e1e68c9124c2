"""G31: where an answer of a person stands among the pages."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kefu.knowledge.answers import with_answers
from kefu.knowledge.finding import PassageHit


def answer(question: str, text: str, language: str = "en") -> PassageHit:
    return PassageHit("answer:1", "", question, (), text, 1.0, language)


NORWAY = answer("Do you deliver to Norway?", "Yes, by ship: five days and 12 euros.")
OSLO = answer("可以寄到挪威吗？", "可以，五天送到，12欧元。", "")
HANOI = answer("Có giao hàng đến Hà Nội không?", "Có, trong năm ngày.", "vi")
PAGES = [
    PassageHit(f"p{n}", f"https://x.example/{n}", "Delivery", (), "Parcels arrive.", 1.0, "en")
    for n in range(6)
]


def places(question: str, found: PassageHit, before: Sequence[str] = ()) -> list[int]:
    """The places of the answer among six passages."""
    merged = with_answers(question, before, [found], PAGES, 6)
    assert len(merged) == 6
    return [place for place, one in enumerate(merged) if one.page == "answer:1"]


@pytest.mark.parametrize(
    ("question", "found", "before", "expected"),
    [
        ("Do you deliver to Norway?", NORWAY, (), [0]),
        ("delivering to norway", NORWAY, (), [0]),
        ("ship to Norway", NORWAY, (), [0]),  # in the words of the text
        ("你们能寄到挪威吗", OSLO, (), [0]),
        ("Deliver to Norway by express with insurance and a gift card?", NORWAY, (), [0]),
        ("and to Norway?", NORWAY, ("Where do you deliver?",), [0]),
        ("Do you deliver to Norway?", NORWAY, ("What about hats?",), [0]),
        ("Do you deliver to Norwya and when?", NORWAY, (), [0]),  # one typo
        ("có giao hàng đến Hà Nội", HANOI, (), [0]),
        ("co giao hang den ha noi", HANOI, (), [0]),  # as typed on a phone
        ("Norway with a tent and skis", NORWAY, (), [0]),  # a half, and no page has more
        ("hello", NORWAY, (), []),
        ("Which parcels arrive on Sundays?", NORWAY, (), []),
        ("营业时间是几点", OSLO, (), []),
    ],
)
def test_g31_an_answer_that_fits_is_before_all_pages(
    question: str, found: PassageHit, before: Sequence[str], expected: list[int]
) -> None:
    assert places(question, found, before) == expected


def test_g31_a_related_answer_is_behind_pages_that_have_more_of_the_question() -> None:
    assert places("When do parcels for a delivery arrive in Norway?", NORWAY) == [5]


def test_g31_at_most_three_answers_are_before_the_pages() -> None:
    merged = with_answers("Do you deliver to Norway?", (), [NORWAY] * 5, PAGES, 6)
    assert [one.page for one in merged] == ["answer:1"] * 3 + ["p0", "p1", "p2"]
    alone = with_answers("Do you deliver to Norway?", (), [NORWAY], [], 6)
    assert alone == [NORWAY]
    assert with_answers("hello", (), [], PAGES, 2) == PAGES[:2]
