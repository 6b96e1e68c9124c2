"""The workflow on GitHub runs the test command of the README, with minimal permissions."""

from __future__ import annotations

import re
from pathlib import Path

WORKFLOW = (Path(__file__).parents[2] / ".github/workflows/test.yml").read_text(encoding="utf-8")


def test_workflow_only_calls_make_test_with_nothing_skipped() -> None:
    assert re.findall(r"run: (.+)", WORKFLOW) == ["make test"]
    assert 'CI: "true"' in WORKFLOW


def test_workflow_uses_no_secret_and_may_only_read() -> None:
    assert "secrets." not in WORKFLOW
    assert re.findall(r"^permissions:\n((?:  .+\n)+)", WORKFLOW, re.MULTILINE) == [
        "  contents: read\n"
    ]


def test_workflow_pins_actions_by_major_version() -> None:
    used = re.findall(r"uses: (\S+)", WORKFLOW)
    assert len(used) >= 3
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", action) for action in used)
