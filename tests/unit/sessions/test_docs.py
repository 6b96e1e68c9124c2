"""docs/sessions.md: its examples work, and it names every hook."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kefu.bootstrap.service import build
from kefu.sessions.hooks import HOOKS, Hook, HookConfig, HookContext, Reply
from kefu.sessions.model import Session, SessionId
from kefu.settings import load

PAGE = (Path(__file__).parents[3] / "docs/sessions.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_every_hook_is_in_the_table() -> None:
    assert sorted(re.findall(r"^\| `(\w+)` \| .* \| .*\|$", PAGE, re.MULTILINE)) == sorted(HOOKS)


def test_the_presets_and_options_of_the_page_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kefu.toml").write_text("\n".join(blocks("toml")), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    settings = load({"KEFU_UPSTREAM_URL": "http://127.0.0.1:9"})
    assert settings.presets
    assert settings.hooks == ("word_filter",)
    build(settings)


async def test_the_hook_of_the_page_works() -> None:
    names: dict[str, Any] = {}
    exec(compile(blocks("python")[0], "sessions.md", "exec"), names)

    hook: Hook = names["OpeningHours"](HookConfig({"hours": "8-12"}))
    visit = HookContext(Session(SessionId("s"), "t", "default", 0.0, 0.0), 0.0)
    assert hook.user_message("/hours", visit) == Reply("We are open 8-12.")
    assert isinstance(hook.user_message("/hours", visit), Reply)
    assert hook.user_message("hello", visit) == "hello"
    assert hook.system(visit) == "The shop is open 8-12."
