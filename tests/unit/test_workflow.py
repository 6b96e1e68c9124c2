"""The workflow on GitHub runs the test command of the README in parts, with minimal permissions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
WORKFLOW = (ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_workflow_runs_every_part_of_make_test_with_nothing_skipped() -> None:
    assert re.findall(r"run: (.+)", WORKFLOW) == ["make ${{ matrix.target }}"]
    assert 'CI: "true"' in WORKFLOW
    [parts] = re.findall(
        r"^test:.*\n\t@\$\(MAKE\) --no-print-directory (.+)$", MAKEFILE, re.MULTILINE
    )
    targets = set(re.findall(r"target: \[?([a-z-]+)", WORKFLOW))
    assert {"check", *parts.split()} <= targets
    assert all(re.search(rf"^{target}:", MAKEFILE, re.MULTILINE) for target in targets)


def test_workflow_runs_on_every_version_of_python_that_the_package_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [line.rpartition(" ")[2] for line in project["classifiers"] if " :: 3." in line]
    [tested] = re.findall(r"^ +python: \[(.+)\]$", WORKFLOW, re.MULTILINE)
    assert re.findall(r'"([\d.]+)"', tested) == named
    assert project["requires-python"] == f">={named[0]}"


def test_workflow_uses_no_secret_and_may_only_read() -> None:
    assert "secrets." not in WORKFLOW
    assert re.findall(r"^permissions:\n((?:  .+\n)+)", WORKFLOW, re.MULTILINE) == [
        "  contents: read\n"
    ]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_pin_actions_by_commit(workflow: Path) -> None:
    """The comment behind it is what Dependabot moves with the commit."""
    used = re.findall(r"uses: (\S+)(.*)", workflow.read_text(encoding="utf-8"))
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[a-z-]+/[a-z-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action
