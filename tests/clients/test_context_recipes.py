"""The programs of docs/context-recipes.md run with the libraries that they name."""

from __future__ import annotations

import pytest

from tests.clients.conftest import outcome_of


@pytest.mark.slow
def test_x26_the_recipes_of_the_page_run_and_send_valid_prompts_that_fit() -> None:
    """60 prompts each; the server counts the tokens and checks the tool calls."""
    outcomes = outcome_of("context_recipes")
    assert not any(seen["problems"] for seen in outcomes.values()), outcomes
    assert list(outcomes) == ["fastapi", "anthropic", "langgraph", "pydantic-ai"]
    for name, seen in outcomes.items():
        assert seen["prompts"] >= 59
        if name in ("fastapi", "langgraph"):
            assert 0 < seen["summaries_asked"] <= 12
            assert seen["with_summary"] > 30
        else:
            assert seen["cleared"] > 20
