"""docs/aws/costs.md and the calculator behind it say the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.costs import EXAMPLES, Month, Prices, bill, table

PAGE = Path(__file__).parents[2] / "docs/aws/costs.md"


def test_the_page_shows_what_the_calculator_says() -> None:
    assert table(EXAMPLES, Prices()) in PAGE.read_text(encoding="utf-8")


def test_a_bill_worked_out_by_hand() -> None:
    month = Month(
        conversations=1_000_000,
        turns=1,
        script_loads=0,
        first_token_seconds=1,
        answer_tokens=50,
        tokens_per_second=50,
        cold_share=0,
        other_seconds=0,
        bytes_per_token=200,
        log_bytes=1000,
    )
    dollars = bill(month, Prices())
    assert dollars["Lambda, time"] == pytest.approx(2_000_000 * 0.0000133334)
    assert dollars["Lambda, requests"] == pytest.approx(2 * 0.20)
    assert dollars["API Gateway"] == pytest.approx(2 * 3.50)
    assert dollars["DynamoDB"] == pytest.approx(0.5 * 0.125 + 0.625)
    assert dollars["CloudWatch Logs"] == pytest.approx(2 * 0.50)
    assert dollars["Data transfer"] == pytest.approx(10 * 0.09)


@pytest.mark.parametrize("memory", [512, 2048])
def test_memory_is_paid_in_proportion(memory: float) -> None:
    month = Month()
    usual, other = (bill(m, Prices()) for m in (month, replace(month, memory_mb=memory)))
    assert other["Lambda, time"] == pytest.approx(usual["Lambda, time"] * memory / 1024)
