"""S38: `kefu test` with the small local model as the visitor and as the assistant."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kefu.upstream import local_model

CASE = """\
- name: greeting
  ask: Hello, who are you?
  visitor: {persona: A friendly visitor., goal: Learn the assistant's name., turns: 3}
  expect: {regex: '\\w'}
"""


@pytest.mark.slow
def test_s38_a_small_model_talks_with_itself_and_the_talk_ends(tmp_path: Path) -> None:
    """It is too small to play a part well; the talk has at most three messages, all answered."""
    (tmp_path / "questions.yaml").write_text(CASE)
    environment = {
        **os.environ,
        "KEFU_MODEL": local_model.NAME,
        "KEFU_MAX_OUTPUT_TOKENS": "40",
        "KEFU_PATIENCE": "slow",
        "KEFU_TEMPERATURE": "0",
    }
    done = subprocess.run(
        [sys.executable, "-m", "kefu", "test", "questions.yaml", "--json", "talk.json"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    [result] = json.loads((tmp_path / "talk.json").read_text())["results"]
    [run] = result["runs"]
    assert run["turns"][0]["ask"] == "Hello, who are you?"
    assert 1 <= len(run["turns"]) <= 3
    assert all(turn["answer"] for turn in run["turns"])
    answers = [
        line for line in done.stdout.splitlines() if line.startswith(f"{' ' * 9}assistant: ")
    ]
    assert len(answers) == len(run["turns"])
