from __future__ import annotations

import random

import pytest

from benchmarks.tokens import MESSAGE, off, samples, scatter
from kefu.context.tokens import counter, estimate_calibrated
from kefu.context.tokens.calibrated import WEIGHTS, parts_of

KINDS = ("english", "chinese", "mixed", "code", "markdown")


@pytest.mark.parametrize("kind", KINDS)
def test_calibrated_is_within_12_percent_on_text_it_was_not_fitted_to(kind: str) -> None:
    """Requirement X15."""
    exact = counter("tiktoken:o200k_base").count
    assert abs(off(estimate_calibrated, exact, samples()[kind])) <= 0.12


@pytest.mark.parametrize("kind", KINDS)
def test_calibrated_is_near_for_most_single_messages(kind: str) -> None:
    """X15: messages of a chat's usual length. Half of them are within 12 %."""
    exact = counter("tiktoken:o200k_base").count
    text = samples()[kind]
    messages = [text[i : i + MESSAGE] for i in range(0, len(text) - MESSAGE + 1, MESSAGE)]
    missed = sorted(scatter(estimate_calibrated, exact, message) for message in messages)
    assert missed[len(missed) // 2] <= 0.12


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", {}),
        ("ab c", {"lower": 3, "space": 1, "word": 2}),
        (
            "aB9\n.,;",
            {"lower": 1, "upper": 1, "digit": 1, "white": 1, "stop": 2, "mark": 1}
            | {"word": 1, "case": 1},
        ),
        ("a (", {"lower": 1, "space": 1, "mark": 1, "word": 1, "alone": 1}),
        ("你好。，", {"han": 2, "kana": 1, "wide": 1}),
        ("é😀한яع", {"accent": 1, "emoji": 1, "hangul": 1, "cyrillic": 1, "arabic": 1}),
        ("ท–", {"thai": 1, "symbol": 1}),
        ("\ud800", {"hangul": 1}),
    ],
)
def test_calibrated_tells_the_parts_of_a_text_apart(text: str, parts: dict[str, int]) -> None:
    """X15: bytes are counted by class, characters by their first byte."""
    names = ["lower", "space", "upper", "digit", "white", "stop", "mark", "word", "case", "alone"]
    names += ["han", "wide", "kana", "hangul", "cyrillic", "arabic", "thai", "symbol", "accent"]
    names += ["emoji"]
    assert len(names) == len(WEIGHTS)
    found = dict(zip(names, parts_of(text), strict=False))
    assert {name: count for name, count in found.items() if count} == parts


@pytest.mark.slow
def test_calibrated_of_a_text_is_about_that_of_its_halves() -> None:
    """X15: for a text with every code point, the count is about the sum of the counts of its
    halves.
    """
    every = [chr(code) for code in range(0x110000)]
    random.Random(15).shuffle(every)
    text = "".join(every)
    half = len(text) // 2
    halves = estimate_calibrated(text[:half]) + estimate_calibrated(text[half:])
    assert abs(estimate_calibrated(text) - halves) <= 3
