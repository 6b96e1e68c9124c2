"""W22: what a visitor may ask next, from the pages that were found for the answer."""

from __future__ import annotations

from typing import Any

import pytest

from kefu.knowledge.finding import PassageHit
from kefu.knowledge.follow_ups import follow_ups
from kefu.knowledge.terms import question_terms

ASKED = "How long does delivery to Norway take?"


def hit(
    title: str, *headings: str, page: str = "", text: str = "delivery Norway", **more: Any
) -> Any:
    return PassageHit(
        page or title,
        "",
        title,
        headings,
        text,
        1.0,
        **{"language": "en", "wanted": question_terms(ASKED, ["en"])} | more,
    )


CITED = hit("Delivery times | Nordlys", "Abroad", page="delivery")


def test_headings_that_are_questions_come_before_titles() -> None:
    found = [
        CITED,
        hit("Customs and taxes | Nordlys"),
        hit("Help | Nordlys", "Who pays the customs?"),
        hit("Delivery times | Nordlys", "Can I choose the day of delivery?", page="delivery"),
    ]
    assert follow_ups(found, [1], ASKED, ()) == [
        "Who pays the customs?",
        "Can I choose the day of delivery?",
        "Customs and taxes",
    ]


@pytest.mark.parametrize(
    "other",
    [
        hit("Delivery times | Nordlys", "Overview", page="delivery"),
        hit("Overview | Nordlys"),
        hit("How long does delivery to Norway take?"),
        hit("Delivery to Norway"),
        hit("Abroad"),
        hit("Who was here before?"),
        hit("Customs and taxes | Nordlys", text="paid at the door"),
        hit("Zoll und Steuern", language="de"),
        hit(f"Is {'very ' * 20}long?"),
    ],
)
def test_nothing_is_better_than_what_says_nothing_new(other: PassageHit) -> None:
    """A page's own name, what was asked or cited, another subject or language, and long texts."""
    found = [CITED, other, hit("Nordlys", page="home", text="")]
    assert follow_ups(found, [1], ASKED, ["who was here before"]) == []


def test_an_answer_without_a_source_has_none() -> None:
    assert follow_ups([CITED, hit("Who pays the customs?")], [], ASKED, ()) == []


def test_there_are_three_at_most_each_once_and_without_tokens_of_models() -> None:
    found = [CITED, *(hit(f"Page {n}", f"Is it <|im_start|> number {n // 2}?") for n in range(12))]
    assert follow_ups(found, [1], ASKED, ()) == [f"Is it number {n}?" for n in range(3)]


def test_chinese_headings_need_four_characters() -> None:
    asked = "运费是多少？"
    more: dict[str, Any] = {
        "language": "zh",
        "wanted": question_terms(asked, ["zh"]),
        "text": "运费",
    }
    cited = hit("运费说明", **more)
    found = [cited, hit("关于", **more), hit("退货", "退货需要运费吗？", **more)]
    assert follow_ups(found, [1], asked, ()) == ["退货需要运费吗？"]
