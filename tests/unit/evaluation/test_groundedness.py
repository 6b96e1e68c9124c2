"""G28: the share of sentences whose numbers, names and addresses are in the cited passages."""

from __future__ import annotations

import pytest

from kefu.evaluation.groundedness import groundedness

PASSAGES = {
    1: "Parcels to Norway take 3 to 5 days and cost 1,250.50 kr. See https://shop.example/norway.",
    2: "退货请在30天内寄回，支持PayPal退款。",
    3: "Wir liefern mit der Post nach Wien. Die AGB gelten ab 2024.",
}


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        ("It takes 3 to 5 days [1].", []),
        ("It takes 3 to 7 days [1].", ["7"]),
        ("It costs 1250,50 kr [1].", []),
        ("It costs 125 kr [1].", ["125"]),
        ("We ship to Norway, not to Sweden [1].", ["Sweden"]),
        ("Norway's parcels are quick [1].", []),
        ("1. Parcels take 5 days [1].", []),
        ("Read https://shop.example/norway. [1]", []),
        ("Read https://shop.example/sweden [1].", ["https://shop.example/sweden"]),
        ("请在30天内寄回[2]。", []),
        ("请在3天内寄回，用PayPal或Alipay退款[2]。", ["3", "Alipay"]),
        ("Die Post liefert nach Wien ab dem Lager [3].", []),
        ("Es gelten die AGB und die DSGVO seit dem Jahr 2023 [3].", ["2023", "DSGVO"]),
        ("That takes 30 days [1].", ["30"]),
        ("That takes 30 days.", []),
        ("Is order 77 for Ms Berg on its way? Yes.", []),
        ("", []),
    ],
)
def test_g28_facts_that_no_cited_passage_has_are_named(answer: str, missing: list[str]) -> None:
    found = groundedness(answer, PASSAGES, "Where is order 77 of Ms Berg?")
    assert found.missing == missing
    assert (found.share == 1.0) == (missing == [])


def test_g28_the_share_counts_sentences() -> None:
    answer = "It takes 5 days. [1] It costs 7 kr. [1]\nAsk us! It is free in Oslo."
    found = groundedness(answer, PASSAGES, "How long?")
    assert (found.share, found.missing) == (0.5, ["7", "Oslo"])
