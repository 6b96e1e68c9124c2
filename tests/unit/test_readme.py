"""What the README promises a stranger, held against the repository."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kefu.context import Window
from kefu.errors import KefuError

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MARKDOWN = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(ROOT.glob("docs/**/*.md"))]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    return [line for block in blocks("sh") for line in block.splitlines() if line]


def targets() -> list[str]:
    """What the README tells people to give to make, in blocks and in the text."""
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


def error_classes(base: type[KefuError] = KefuError) -> Iterator[type[KefuError]]:
    for child in base.__subclasses__():
        yield child
        yield from error_classes(child)


def test_the_error_table_lists_every_error_a_client_may_see() -> None:
    """C8."""
    rows = re.findall(r"^\| (\d{3}) \| `([a-z_]+)` \|", README, re.MULTILINE)
    of_kefu = {
        (str(cls.status), cls.code) for cls in error_classes() if cls.__module__ == "kefu.errors"
    }
    assert sorted(rows) == sorted(of_kefu)


def test_every_setting_the_readme_names_exists() -> None:
    from kefu.settings import Settings

    known = {field.alias for field in Settings.model_fields.values()}
    named = set(re.findall(r"\b(?:KEFU|LONGCAT)_[A-Z_]+\b", README))
    assert named
    assert named <= known


def test_the_library_example_runs() -> None:
    """S1, and a window with nothing dropped."""
    (example,) = (block for block in blocks("python") if "kefu.context" in block)
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    window = names["window"]
    assert isinstance(window, Window)
    assert [message.content for message in window.messages] == [
        "<identity>AI</identity>",
        "介绍林默",
        "林默是28岁侦探",
        "他的性格？",
    ]
    assert window.left_out == ()


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_into_the_repository_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if not (page.parent / link).exists()]
    assert missing == []
