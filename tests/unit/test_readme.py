"""The commands and claims of the README, compared with the repository."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    return [line for block in blocks("sh") for line in block.splitlines() if line]


def targets() -> list[str]:
    """The make targets in the README's code blocks and text."""
    return sorted(set(re.findall(r"\bmake ([a-z]+)", "\n".join([*commands(), *inline()]))))


def inline() -> list[str]:
    return re.findall(r"`(make [a-z]+)`", README)


def test_readme_shows_how_to_run_and_how_to_test() -> None:
    assert {"make run", "make test"} <= set(commands())


@pytest.mark.parametrize("target", targets())
def test_every_make_command_of_the_readme_exists(target: str) -> None:
    child = subprocess.run(
        ["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert child.returncode == 0, child.stderr
    assert child.stdout


def test_ci_runs_the_test_command_of_the_readme() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    text = script.read_text(encoding="utf-8")
    assert text.startswith("#!/usr/bin/env bash\n")
    assert text.splitlines()[-1] == "CI=true exec make test"


def test_every_setting_the_readme_names_exists() -> None:
    from kefu.settings import Settings

    known = {field.alias for field in Settings.model_fields.values()}
    named = set(re.findall(r"\b(?:KEFU|LONGCAT)_[A-Z_]+\b", README))
    assert named
    assert named <= known
