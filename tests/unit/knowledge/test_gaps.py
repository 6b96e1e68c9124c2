"""G29: questions that were asked in vain, grouped."""

from __future__ import annotations

from kefu.knowledge.gaps import Reason, VisitorQuestion, gaps


def asked(question: str, at: float, reason: Reason = "not answered") -> VisitorQuestion:
    return VisitorQuestion(question, f"chat-{at:g}", at, reason)


def test_g29_questions_with_equal_terms_are_one_gap_and_frequent_ones_come_first() -> None:
    found = gaps(
        [
            asked("Do you sell hats?", 1.0),
            asked("Is there a shop in Oslo?", 5.0),
            asked("selling hats", 3.0, "rated down"),
            asked("你们卖帽子吗", 4.0),
        ],
        ("en",),
    )
    assert [(gap.question, gap.times) for gap in found] == [
        ("selling hats", 2),
        ("Is there a shop in Oslo?", 1),
        ("你们卖帽子吗", 1),
    ]
    assert found[0].reasons == ["not answered", "rated down"]
    assert found[0].last.session == "chat-3"


def test_g29_questions_without_terms_are_not_mixed() -> None:
    assert [gap.times for gap in gaps([asked("???", 1.0), asked("!", 2.0)], ("en",))] == [1, 1]
