"""The rules for all tests, checked by running small test files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SKIPPING = {
    "test_module.py": "import pytest; pytest.skip('module: make parts', allow_module_level=True)",
    "test_rest.py": """
import pytest

def test_call():
    pytest.skip("call: make parts")

@pytest.mark.skip(reason="mark: make parts")
def test_mark(): ...

@pytest.fixture
def part():
    pytest.skip("fixture: make parts")

def test_fixture(part): ...

@pytest.mark.xfail(reason="known, and not missing")
def test_known():
    assert False
""",
}

LOOKING_AROUND = {
    "test_environment.py": """
import os, subprocess, sys, pytest

@pytest.fixture(scope="session")
def child():
    program = "import os; print(*os.environ, os.environ['HOME'])"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout

def test_environment(child, home):
    for names in (child.split(), list(os.environ)):
        assert not [n for n in names if n.startswith(("KEFU_", "LONGCAT_", "AWS_", "XDG_C"))]
    assert os.environ["HOME"] == str(home)
    assert not list(home.iterdir())
    assert "/home/of-the-developer" not in child
"""
}

BROKEN = {
    "test_warns.py": "import warnings\ndef test_warning(): warnings.warn('old')",
    "test_xfail.py": "import pytest\n@pytest.mark.xfail\ndef test_that_passes(): pass",
    "test_async.py": "async def test_is_run(): assert False",
    "test_marker.py": "import pytest\n@pytest.mark.haevy\ndef test_misspelt(): pass",
}


def run_pytest(folder: Path, files: Mapping[str, str], **environment: str) -> dict[str, int]:
    """Run test files with this repository's conftest and configuration. Returns the results."""
    for name, source in files.items():
        (folder / name).write_text(source)
    options = ["-q", "-c", "pyproject.toml", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    child = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--continue-on-collection-errors", str(folder)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    last = (child.stdout.splitlines() or [child.stderr])[-1]
    outcomes = re.findall(r"(\d+) (passed|failed|skipped|xfailed|error)", last)
    return {outcome: int(count) for count, outcome in outcomes}


@pytest.mark.slow
def test_a_skip_is_a_failure_in_ci_alone(tmp_path: Path) -> None:
    """For skips in a module, a mark, a fixture and a test."""
    assert run_pytest(tmp_path, SKIPPING, CI="") == {"skipped": 4, "xfailed": 1}
    # pytest reports a failure in a fixture as an error.
    assert run_pytest(tmp_path, SKIPPING, CI="true") == {"failed": 1, "error": 3, "xfailed": 1}


@pytest.mark.slow
def test_the_developers_own_settings_do_not_reach_a_test_or_its_children(tmp_path: Path) -> None:
    mine = {
        "KEFU_STORE": "sqlite:///mine",
        "LONGCAT_API_KEYS": "mine",
        "AWS_PROFILE": "mine",
        "XDG_CONFIG_HOME": "/home/of-the-developer/.config",
        "HOME": "/home/of-the-developer",
    }
    assert run_pytest(tmp_path, LOOKING_AROUND, **mine) == {"passed": 1}


def test_warnings_misspelt_markers_and_stale_xfails_fail(tmp_path: Path) -> None:
    """Also checks that asynchronous tests are run."""
    assert run_pytest(tmp_path, BROKEN) == {"failed": 3, "error": 1}


def test_slow_tests_run_with_ci_and_are_left_out_with_a_word_without_it() -> None:
    def shown(ci: str) -> str:
        command = ["make", "--dry-run", "test"]
        environment = {**os.environ, "CI": ci, "MAKEFLAGS": ""}
        child = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return child.stdout

    assert "slow" not in shown("true")
    python, run, model, browser, visit = (line for line in shown("").splitlines() if "slow" in line)
    assert "-m slow" in python
    assert run.endswith('--ignore tests/e2e -m "not slow"')
    assert model.endswith('pytest tests/e2e -m "not slow"')
    assert "npm run test:browser" in browser
    assert visit.endswith("-- --tags-filter='!slow'")
