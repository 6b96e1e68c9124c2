"""No name of a class means two things in the package."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import kefu

PACKAGE = Path(kefu.__file__).parent

TWICE = {
    *("Answer", "Conversation", "Filter", "LearntPages", "Reader", "Turn", "Unreachable"),
    "_Body",
}
"""Names that still mean two things."""


@pytest.mark.slow
def test_m6_a_class_name_is_defined_once() -> None:
    """A reader who searches for a name finds one class."""
    places = defaultdict[str, list[str]](list)
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(file.relative_to(PACKAGE)))
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert {name: found for name, found in twice.items() if name not in TWICE} == {}
