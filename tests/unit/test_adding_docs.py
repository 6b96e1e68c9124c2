"""The files and registries that docs/adding.md names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/adding.md").read_text(encoding="utf-8")
TOP = {path.name for path in ROOT.iterdir()}
CODE = re.findall(r"`([^`\n]+)`", PAGE)
PATHS = sorted({name for name in CODE if name.partition("/")[0] in TOP})
REGISTRIES = re.findall(r"`(\w+)`\s+in\s+`([\w./]+/[\w.]+)`", PAGE)
SECTIONS = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]


@pytest.mark.parametrize("name", PATHS)
def test_every_path_on_the_page_exists(name: str) -> None:
    """For a path with a placeholder, such as `<name>.py`, the folder must exist."""
    known = name.partition("<")[0].rpartition("/")[0] if "<" in name else name
    assert (ROOT / known).exists()


@pytest.mark.parametrize(("name", "path"), REGISTRIES)
def test_every_name_on_the_page_is_in_the_file_it_names(name: str, path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    assert re.search(
        rf"(class|def|const|interface|type) {name}\b|^ *{name}\b.* = ", text, re.MULTILINE
    )


@pytest.mark.parametrize("section", SECTIONS, ids=lambda text: text.splitlines()[0])
def test_every_section_names_a_file_to_write_and_a_test(section: str) -> None:
    named = [name for name in re.findall(r"`([^`\n]+)`", section) if name in PATHS]
    assert any(name.startswith(("functions/kefu/", "widget/src/")) for name in named)
    assert any("tests/" in name for name in named)


def test_the_page_is_read_whole() -> None:
    assert len(PATHS) > 30
    assert len(REGISTRIES) > 8
    assert len(SECTIONS) == 15
