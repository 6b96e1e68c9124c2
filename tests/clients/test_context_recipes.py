"""The programs of docs/context-recipes.md run with the libraries that they name."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.clients.conftest import PYTHON, ROOT


@pytest.mark.slow
def test_x26_the_recipes_of_the_page_run_and_send_valid_prompts_that_fit() -> None:
    """60 prompts each; the server counts the tokens and checks the tool calls."""
    if not PYTHON.exists():
        pytest.skip("The clients for Python are not installed. Try: make parts")
    command = [str(PYTHON), "-W", "ignore", "-m", "tests.clients.scripts.context_recipes"]
    path = os.pathsep.join((str(ROOT / "functions"), str(ROOT)))
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    outcomes = json.loads(done.stdout)
    assert not any(seen["problems"] for seen in outcomes.values()), outcomes
    assert list(outcomes) == ["fastapi", "anthropic", "langgraph", "pydantic-ai"]
    for name, seen in outcomes.items():
        assert seen["prompts"] >= 59
        if name in ("fastapi", "langgraph"):
            assert 0 < seen["summaries_asked"] <= 12
            assert seen["with_summary"] > 30
        else:
            assert seen["cleared"] > 20
