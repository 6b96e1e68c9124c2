"""CONTRIBUTING.md, compared with the repository."""

from __future__ import annotations

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
