"""The site of docs/ is complete, and built strictly."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kefu.settings import load
from tests.fakes.scripts import load_script
from tests.unit.docs.pages import GUIDES, ROOT, name_of

site = load_script("docs/site/make.py")


def pages_of(entries: list[dict[str, object]]) -> list[str]:
    """The pages of a menu, with those below its headings."""
    found: list[str] = []
    for entry in entries:
        for value in entry.values():
            found += pages_of(value) if isinstance(value, list) else [str(value)]
    return found


def test_the_menu_leads_to_every_guide_once() -> None:
    pages = pages_of(site.menu())
    assert len(pages) == len(set(pages))
    wanted = {name_of(page) for page in GUIDES} - {"docs/README.md", "SECURITY.md"}
    assert wanted - set(pages) == set()


def test_the_menu_is_valid_toml() -> None:
    text = f"nav = {site.toml_of(site.menu())}"
    assert tomllib.loads(text)["nav"] == site.menu()


def test_the_settings_of_its_chat_are_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kefu.toml").write_text(site.SETTINGS)
    monkeypatch.chdir(tmp_path)
    assert load({}).allowed_origins == ("http://127.0.0.1:8001",)


@pytest.mark.slow
def test_the_site_is_built_strictly_and_its_pages_need_no_other_host() -> None:
    if not site.ZENSICAL.exists():
        pytest.skip("the builder of the site is not installed: make parts")
    ran = subprocess.run(
        [sys.executable, "docs/site/make.py", "--chat", "https://chat.example.com"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    page = (site.OUT / "html/docs/zh/start.html").read_text(encoding="utf-8")
    loaded = re.findall(r'<(?:script|img)[^>]* src="(https?:[^"]+)"', page)
    loaded += re.findall(r'<link [^>]*rel="stylesheet"[^>]* href="(https?:[^"]+)"', page)
    assert loaded == ["https://chat.example.com/chat-widget.js"]


@pytest.mark.slow
def test_a_broken_link_ends_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not site.ZENSICAL.exists():
        pytest.skip("the builder of the site is not installed: make parts")
    for name, text in {"README.md": "# A\n[b](docs/gone.md)\n", "docs/README.md": "# B\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in ("README.zh-CN.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE"):
        (tmp_path / name).write_text("# C\n")
    (tmp_path / "docs/site").symlink_to(ROOT / "docs/site")
    monkeypatch.setattr(site, "ROOT", tmp_path)
    monkeypatch.setattr(site, "OUT", tmp_path / "out")
    with pytest.raises(subprocess.CalledProcessError):
        site.build("")
