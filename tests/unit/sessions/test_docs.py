"""docs/sessions.md and docs/hooks.md: their examples work, and every hook is named."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from kefu.bootstrap.service import build
from kefu.sessions.hooks import HOOKS
from kefu.sessions.hooks.hook import STEPS
from kefu.settings import load

DOCS = Path(__file__).parents[3] / "docs"
CHATS = (DOCS / "sessions.md").read_text(encoding="utf-8")
PAGE = (DOCS / "hooks.md").read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def test_every_hook_is_in_the_table() -> None:
    assert sorted(re.findall(r"^\| `(\w+)` \| .* \| .*\|$", PAGE, re.MULTILINE)) == sorted(HOOKS)


def test_h11_every_function_of_a_hook_is_in_the_table() -> None:
    named = re.findall(r"^\| `(\w+)\(([\w, ]+)\)` \|", PAGE, re.MULTILINE)
    assert dict(named) == {step: ", ".join(arguments) for step, arguments in STEPS.items()}


def test_h11_the_presets_and_hooks_of_the_pages_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = "\n".join(blocks(CHATS, "toml") + blocks(PAGE, "toml"))
    (tmp_path / "kefu.toml").write_text(tables, encoding="utf-8")
    for code in blocks(PAGE, "python"):
        name = code.partition("\n")[0].removeprefix("# ")
        (tmp_path / name).write_text(code, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name.removesuffix(".py"), raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SHOP_URL", "http://127.0.0.1:9")
    settings = load({"KEFU_UPSTREAM_URL": "http://127.0.0.1:9"})
    assert settings.presets
    assert settings.hooks == ("word_filter", "site_hooks", "opening_hours:OpeningHours")
    build(settings)
