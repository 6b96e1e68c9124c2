"""G31: what may name a person is marked before an answer becomes public."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from kefu.knowledge.personal import personal_marks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dear Kari Nordmann, hello.", [("Kari Nordmann", "name")]),
        ("Write to kari.n+x@mail.example.no.", [("kari.n+x@mail.example.no", "email")]),
        ("Call +47 22 33 44 55", [("+47 22 33 44 55", "phone")]),
        ("or 030/1234567.", [("030/1234567", "phone")]),
        ("Order NO-20261, #4711 later", [("NO-20261", "number")]),
        ("Your order no. 88 and invoice A-17", [("88", "number"), ("A-17", "number")]),
        ("Guten Tag Frau Müller-Lüdenscheidt!", [("Frau Müller-Lüdenscheidt", "name")]),
        ("My name is Øystein. Thanks Anna", [("Øystein", "name"), ("Anna", "name")]),
        ("王先生您好，订单号：20261124001", [("王", "name"), ("20261124001", "number")]),
        ("我叫李雷，电话 13800138000。", [("李雷", "name"), ("13800138000", "phone")]),
    ],
)  # fmt: skip
def test_g31_names_addresses_and_numbers_are_marked(
    text: str, expected: list[tuple[str, str]]
) -> None:
    found = personal_marks(text)
    marked = [text[one.start : one.end] for one in found]
    assert [part for part, _ in expected] == marked
    assert all(one.kind in (kind, "phone") for one, (_, kind) in zip(found, expected, strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "Yes, to Norway in 5 days for 12.50 euros, since 2026-11-24.",
        "Open 09:00-18:00 until 24.12.2026, free from 1000 NOK.",
        "The RTX 4090 needs 850 W; ISO 9001; M8x40; season 2025/2026.",
        "Hi all! Dear customers, thank you.",
        "五天送到，12.50欧元，周一至周五 9:00-18:00。",
    ],
)
def test_g31_dates_prices_times_and_models_are_no_persons(text: str) -> None:
    assert personal_marks(text) == []


def test_g31_known_names_are_marked_wherever_they_stand() -> None:
    text = "As nordmann said: 李雷想知道。 Nordmannsen is another."
    found = personal_marks(text, ("Kari Nordmann", "李雷", "", "x"))
    assert [text[one.start : one.end] for one in found] == ["nordmann", "李雷"]


@pytest.mark.slow
def test_g31_marks_do_not_overlap_and_take_no_long_time() -> None:
    for text in ("1" * 8000, "Dear A" * 1300, "a@" * 4000, "订单" * 4000, "1 " * 4000, "A-" * 4000):
        began = time.process_time()
        found = personal_marks(text, ("Kari Nordmann",))
        assert time.process_time() - began < 5
        assert all(one.end <= two.start for one, two in pairwise(found))
