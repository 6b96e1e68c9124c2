"""X7, X8: no prompt is longer than its limit, counted by the model's own tokenizer."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.limits import MODELS, fills

TEXTS = {
    path.stem: path.read_text(encoding="utf-8")
    for path in (Path(__file__).parents[3] / "benchmarks" / "texts").glob("*.txt")
}


@pytest.mark.parametrize("exact", [True, False], ids=["exact near the limit", "estimate"])
@pytest.mark.parametrize("model", MODELS)
def test_no_window_exceeds_the_true_limit_in_any_language(model: str, exact: bool) -> None:
    """`python -m benchmarks.limits` does the same 10,000 times, in twelve languages."""
    found = fills(TEXTS, model, 96, exact=exact)
    assert max(found) <= 1
    # The space is also used: on average another turn would not have fitted.
    assert sum(found) / len(found) > (0.75 if exact else 0.55)
