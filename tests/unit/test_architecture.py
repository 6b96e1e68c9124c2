"""docs/architecture.md shows the import contracts that `make check` enforces."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
KEFU = ROOT / "functions/kefu"
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")


def contracts() -> list[dict[str, Any]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = settings["tool"]["importlinter"]["contracts"]
    return found


def layers() -> list[str]:
    (found,) = (one["layers"] for one in contracts() if one.get("containers") == ["kefu"])
    return list(found)


def test_the_page_draws_the_layers_of_the_contract() -> None:
    drawn = PAGE.partition("```\n")[2].partition("\n```")[0]
    assert drawn.splitlines() == layers()
    assert len(layers()) <= 11


def test_the_page_has_a_sentence_for_each_package_and_module() -> None:
    rows = re.findall(r"^\| `([a-z_]+)/?` \| ([^|]{20,}\.) \| [^|]{10,}\. \|$", PAGE, re.MULTILINE)
    names = [name for layer in layers() for name in layer.split(" | ")]
    assert sorted(name for name, _ in rows) == sorted(names)


def test_the_page_names_every_contract() -> None:
    named = re.findall(r"^- (.+)$", PAGE.partition("## All contracts")[2], re.MULTILINE)
    assert named == [one["name"] for one in contracts()]


def test_each_package_has_a_docstring_about_its_content() -> None:
    packages = [path for path in KEFU.glob("**/__init__.py") if path.parent != KEFU]
    assert len(packages) > 10
    silent = [path for path in packages if not ast.get_docstring(ast.parse(path.read_text()))]
    assert silent == []
