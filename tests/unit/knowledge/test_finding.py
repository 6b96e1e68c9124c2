"""G16: when a question's own words do not serve."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kefu.knowledge.finding import PassageHit, chosen, fits_badly, in_turn, questions_in


def found(*terms: str) -> PassageHit:
    return PassageHit("p", "", "", (), " ".join(terms), 1.0, "en", terms)


@pytest.mark.parametrize(
    ("passages", "question", "expected"),
    [
        ([found("custom", "norway", "paid")], "customs Norway paid checkout", False),
        ([found("norway"), found("custom", "norway", "paid")], "customs Norway paid cash", False),
        ([found("custom", "norway")], "customs Norway paid checkout", True),
        (
            [found("norway")] * 2 + [found("custom", "norway", "paid")],
            "customs Norway paid X",
            True,
        ),
        ([found("custom", "norway")], "customs Norway", True),  # too short
        ([], "customs Norway paid checkout", True),
        ([], "谁来付挪威的关税和运费", True),
    ],
)
def test_g16_a_question_fits_if_one_of_the_best_two_passages_has_most_of_its_terms(
    passages: Sequence[PassageHit], question: str, expected: bool
) -> None:
    assert fits_badly(passages, question, (), ("en",)) is expected


def test_g16_a_follow_up_is_measured_with_the_question_before() -> None:
    passages = [found("boot", "broken", "heel", "repair")]
    question, before = "boots broken heel repair", ("parcel lost somewhere abroad",)
    assert not fits_badly(passages, question, (), ("en",))
    assert fits_badly(passages, question, before, ("en",))


@pytest.mark.parametrize(
    ("title", "headings", "expected"),
    [
        ("Prices", ("Customs for Norway",), False),
        ("Who pays customs in Norway", (), False),
        ("Norway", ("Prices",), True),  # one term of four
        ("Customs", ("Norway",), True),  # two names with one term each
        ("Checkout", (), False),  # the fourth term: all are there
    ],
)
def test_g16_a_passage_fits_if_its_title_or_a_heading_has_half_of_the_terms(
    title: str, headings: Sequence[str], expected: bool
) -> None:
    passage = found("custom", "norway", "paid")._replace(title=title, headings=headings)
    assert fits_badly([passage], "customs Norway paid checkout", (), ("en",)) is expected


def test_g16_a_short_question_fits_by_a_heading_unless_it_follows_another_one() -> None:
    passage = found("log", "level")._replace(headings=("Logging levels",))
    question = "What are the logging levels?"
    assert not fits_badly([passage], question, (), ("en",))
    assert fits_badly([passage], question, ("How do I write a handler for it?",), ("en",))


@pytest.mark.parametrize(
    ("message", "sentences"),
    [
        ("How do I return boots?", []),
        ("We are on kefu.example.com, version 3.5", []),
        ("Hi! I bought boots. How do I return them? Thanks!", ["How do I return them?"]),
        ("Do you ship to Oslo? And what does it cost?\nKari", None),
        ("你好！昨天买了靴子。怎么退货？谢谢！", ["怎么退货？"]),
        ("مرحبا! كيف أعيد الحذاء؟ شكرا", ["كيف أعيد الحذاء؟"]),
        ("One. Two. Three. Four.", ["Two.", "Three.", "Four."]),
        (
            "Hello, I bought warm socks last week, my feet stay cold, can I return socks?",
            ["can I return socks?"],
        ),
        ("你好，我昨天晚上在你们商店买了一双靴子，穿着太小，怎么退货呢", ["怎么退货呢"]),
        # The last clause is about nothing by itself.
        (
            "When my boat Anna makes strange loud noises near Bergen cold mornings, what do I do?",
            ["When my boat Anna makes strange loud noises near Bergen cold mornings"],
        ),
        ("Do boots, socks and gloves cost 1,000 crowns?", []),
        (" \n? ", []),
        ("Why? " * 500, []),
    ],
)
def test_the_sentences_of_a_message_that_ask(message: str, sentences: list[str] | None) -> None:
    both = ["Do you ship to Oslo?", "And what does it cost?"]
    assert questions_in(message, ("en", "zh")) == (both if sentences is None else sentences)


def test_rankings_take_turns() -> None:
    ids = [id for id, _ in in_turn([[1, 2, 3], [2, 4], [5]])]
    scores = [score for _, score in in_turn([[1, 2, 3], [2, 4], [5]])]
    assert ids == [1, 2, 5, 4, 3]
    assert scores == sorted(set(scores), reverse=True)


SIZES = "The boots come in sizes 38 to 46, and the shaft is 20 cm high. " * 4


def hit(page: str, title: str, text: str = SIZES, *headings: str) -> PassageHit:
    return PassageHit(page, page, title, headings, text, 1.0, "en")


@pytest.mark.parametrize(
    ("title", "heading"),
    [("Add a review for Boots", "Sizes"), ("Boots (print)", "Sizes"), ("Boots", "Sizes (next)")],
)
def test_a_copy_of_a_long_passage_under_a_longer_name_is_found_once(
    title: str, heading: str
) -> None:
    page, copy = hit("/boots/", "Boots", SIZES, "Sizes"), hit("/b/", title, SIZES, heading)
    other = hit("/socks/", "Socks")
    assert chosen([page, copy, other], 6) == [page, other]
    assert chosen([copy, page, other], 6) == [copy, other]


def test_of_passages_with_the_same_names_that_with_the_shortest_address_is_found() -> None:
    pages = [
        hit(one, "Boots") for one in ("/docs/next/boots", "/docs/boots", "/docs/boots?lang=en")
    ]
    assert chosen(pages, 6) == [pages[1]]


def test_equal_passages_of_two_subjects_and_short_ones_are_found_each() -> None:
    pages = [hit("/eu", "Returns EU"), hit("/us", "Returns US")]
    assert chosen(pages, 6) == pages
    pages = [hit("/a", "get", "Deprecated."), hit("/b", "get all", "Deprecated.")]
    assert chosen(pages, 6) == pages
