"""CONTRIBUTING.md, compared with the repository."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TOP = {path.name for path in ROOT.iterdir()}
TO_BE_WRITTEN = {
    "functions/kefu/agent/tools/word_count.py",
    "tests/unit/agent/tools/test_word_count.py",
}
"""By the reader, in "Your first change"."""


def test_every_path_of_the_contributors_page_exists() -> None:
    named = {
        name for name in re.findall(r"`([\w./-]+)`", CONTRIBUTING) if name.split("/")[0] in TOP
    }
    assert len(named) > 20
    assert {name for name in named if not (ROOT / name).exists()} == TO_BE_WRITTEN


def test_the_contributors_page_has_each_folder_of_the_tests() -> None:
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/__init__.py")}
    assert folders - set(re.findall(r"`tests/(\w+)/`", CONTRIBUTING)) == {"golden", "parts"}


MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PLACES = ("make test", "CI", "make bench")


def test_the_contributors_page_names_the_three_places_where_a_case_runs() -> None:
    section = CONTRIBUTING.split("## Where a case runs\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| ", section, re.MULTILINE)
    assert [row.strip("`").split(",")[0] for row in rows[1:]] == list(PLACES)


def test_make_test_leaves_out_the_slow_python_tests_alone_and_ci_none() -> None:
    """What one line ignores, such as tests/e2e, another one runs."""
    runs = re.findall(r"^\t\$\(BIN\)/pytest (.+)$", MAKEFILE, re.MULTILINE)
    assert runs == ["$(SIDE_BY_SIDE) $(NOT_SLOW)$(AGAIN)", "tests/e2e $(NOT_SLOW)"]
    [side_by_side] = re.findall(r"^SIDE_BY_SIDE := (.+)$", MAKEFILE, re.MULTILINE)
    assert re.findall(r"--ignore (\S+)", side_by_side) == ["tests/e2e"]
    assert not re.search(r"(^| )(-k|-m|--deselect)", side_by_side)
    assert 'ifneq ($(CI),true)\nNOT_SLOW := -m "not slow"\nendif\n' in MAKEFILE
    assert MAKEFILE.count("NOT_SLOW :=") == 1


def test_in_ci_what_failed_beside_others_runs_once_more_and_nothing_else_does() -> None:
    again = re.findall(
        r"^ifeq \(\$\(CI\),true\)\nAGAIN := .+\\\n(.+)\nendif$", MAKEFILE, re.MULTILINE
    )
    wanted = "--last-failed --last-failed-no-failures none --ignore tests/e2e"
    assert [line.strip() for line in again] == [f"$(BIN)/pytest {wanted}; }}"]
    assert MAKEFILE.count("AGAIN :=") == 1
    assert "retry: IS_CI ? 1 : 0," in (ROOT / "widget/vitest.config.ts").read_text(encoding="utf-8")


def test_every_test_of_the_widget_is_run_by_a_command_of_the_makefile() -> None:
    """Those of WebKit repeat what Chromium runs, and have a command of their own."""
    scripts = json.loads((ROOT / "widget/package.json").read_text(encoding="utf-8"))["scripts"]
    run = {"unit": "test", "browser": "test:browser", "webkit": "test:webkit"}
    assert all(f"--project {project}" in scripts[name] for project, name in run.items())
    folders = {path.parent.name for path in (ROOT / "widget/tests").rglob("*.test.ts")}
    assert folders == set(run)
    called = re.findall(r"npm (?:run --silent )?([a-z:]+)", MAKEFILE)
    assert set(run.values()) <= set(called)
