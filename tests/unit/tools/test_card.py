"""The sentences about a card are in the language of its text: Chinese or English."""

from __future__ import annotations

import pytest

from kefu.tools.card import declined, outcome_sentence


@pytest.mark.parametrize(
    ("card", "no", "done"),
    [
        ("取消订单 1001？", "好的，没有执行。", "已完成：取消订单 1001"),
        ("注文 1001 を取り消しますか?", "All right, nothing was changed.", "Done: 注文 1001 を"),
        ("Cancel order 1001?", "All right, nothing was changed.", "Done: Cancel order 1001"),
    ],
)
def test_a_japanese_card_is_not_answered_in_chinese(card: str, no: str, done: str) -> None:
    assert declined(card) == no
    assert outcome_sentence(card, "done").startswith(done)
