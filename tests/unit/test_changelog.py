"""CHANGELOG.md has releases with clean sections, as Keep a Changelog describes them."""

from __future__ import annotations

import re
from pathlib import Path

from kefu import __version__

CHANGELOG = (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
SECTIONS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def releases() -> dict[str, str]:
    """The text below each `##` heading."""
    parts = re.split(r"^## (.+)$", CHANGELOG, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_changelog_has_the_version_of_the_package_and_perhaps_the_next_one() -> None:
    names = list(releases())
    dated = names[names[0].endswith("] - unreleased") :]
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", name) for name in dated)
    assert re.match(r"\[\d+\.\d+\.\d+\] - ", names[0])
    assert f"[{__version__}] - unreleased" not in names
    assert len(names) == len(re.findall(r"^## ", CHANGELOG, re.MULTILINE))
    assert f"[{__version__}]" in [name.split(" ")[0] for name in names]


def test_each_release_has_each_section_once_and_in_order() -> None:
    for name, text in releases().items():
        sections = re.findall(r"^### (.+)$", text, re.MULTILINE)
        assert sections == [one for one in SECTIONS if one in sections], name
        assert sections, name


def test_no_entry_occurs_twice() -> None:
    """The file is merged by union, which can keep a changed entry beside its older form."""
    for name, text in releases().items():
        entries = [entry[:40] for entry in re.findall(r"^- (.+)$", text, re.MULTILINE)]
        assert len(entries) == len(set(entries)), name
