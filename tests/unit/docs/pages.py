"""The pages of the documentation, and their parts."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]

TOP = (
    "README.md",
    "README.zh-CN.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "benchmarks/README.md",
)
ALL = [ROOT / name for name in TOP] + sorted(ROOT.glob("docs/**/*.md"))
"""Every page; decisions and the changelog name what was there before, too."""

GUIDES = [page for page in ALL if page.name != "CHANGELOG.md" and page.parent.name != "decisions"]
"""The pages that describe Kefu as it is."""

_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose_of(page: Path) -> str:
    """The text without blocks of code and comments."""
    return _COMMENT.sub("", _FENCE.sub("", text_of(page)))


def blocks(page: Path, *languages: str) -> list[str]:
    """The blocks of code in one of these languages."""
    found = _FENCE.findall(text_of(page))
    return [block for language, block in found if language in languages]


def headings(page: Path) -> list[str]:
    return re.findall(r"^#{1,6} (.+)$", _FENCE.sub("", text_of(page)), re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of the headings."""
    found: set[str] = set()
    for heading in headings(page):
        shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        kept = re.sub(r"[^\w\- ]", "", shown.lower())
        anchor, number = kept.replace(" ", "-"), 0
        while (name := f"{anchor}-{number}" if number else anchor) in found:
            number += 1
        found.add(name)
    return found


def links(page: Path) -> list[str]:
    """The targets of all links that are not in code."""
    text = re.sub(r"`[^`\n]*`", "", prose_of(page))
    return re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|srcset)="([^"]+)"', text)
