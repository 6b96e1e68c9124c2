"""docs/sessions.md: its examples work, and it names every hook."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from kefu.assembly import build
from kefu.hooks import HOOKS, Given, Hook, Reply, Visit
from kefu.sessions import Session, SessionId
from kefu.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs/sessions.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_every_hook_is_in_the_table() -> None:
    assert sorted(re.findall(r"^\| `(\w+)` \| .* \| .*\|$", PAGE, re.MULTILINE)) == sorted(HOOKS)


def test_the_presets_and_options_of_the_page_start(tmp_path: Path) -> None:
    file = tmp_path / "kefu.toml"
    file.write_text("\n".join(blocks("toml")), encoding="utf-8")
    assert set(tomllib.loads(file.read_text(encoding="utf-8"))) == {"configs", "hooks"}
    settings = {"KEFU_UPSTREAM_URL": "http://127.0.0.1:9", "KEFU_HOOKS": "word_filter"}
    build(Settings.model_validate({**settings, "KEFU_CONFIGS": str(file)}))


async def test_the_hook_of_the_page_works() -> None:
    names: dict[str, Any] = {}
    exec(compile(blocks("python")[0], "sessions.md", "exec"), names)

    async def summarize(messages: object, previous: str) -> str:
        return ""

    hook: Hook = names["OpeningHours"](Given({"hours": "8-12"}, summarize))
    visit = Visit(Session(SessionId("s"), "t", "default", 0.0, 0.0), 0.0)
    assert hook.user_message("/hours", visit) == Reply("We are open 8-12.")
    assert isinstance(hook.user_message("/hours", visit), Reply)
    assert hook.user_message("hello", visit) == "hello"
    assert hook.system(visit) == "The shop is open 8-12."
