"""A17: functions of the site and tools of MCP servers get the results of the file, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from kefu.knowledge.learning import Learnt
from kefu.knowledge.pages import Block, PageText
from kefu.stores.sqlite.knowledge.write import Run, write
from tests.cli.conftest import Kefu
from tests.fakes.choosing import Choosing, rule
from tests.fakes.service import Service
from tests.fakes.upstream import ScriptedUpstream

FUNCTION = '''\
def note(words: str) -> str:
    """Writes a note.

    words: the note
    """
    open("note", "w").write(words)
    return "written"
'''
KEY = "an-assistants-key-of-32-characters"
PAGE = PageText("https://shop.example/help", "Help", [Block("Boots are dry.")], "en")


@pytest.mark.slow
def test_a_function_of_the_site_runs_with_live_tools_alone(
    kefu: Kefu, folder: Path, upstream: ScriptedUpstream
) -> None:
    (folder / "site_tools.py").write_text(FUNCTION)
    (folder / "kefu.toml").write_text('[tools.note]\npython = "site_tools:note"\neffect = "read"\n')
    upstream.script("*", Choosing(rule("Note (.*)", "note", words=r"\1")))
    (folder / "questions.yaml").write_text(
        "- {ask: Note given, results: {note: from the file}, expect: {contains: from the file}}\n"
        "- {ask: Note real}\n"
    )
    ran = kefu("test", "questions.yaml")
    assert "1 passed, 1 failed" in ran.out
    assert not (folder / "note").exists()
    assert kefu("test", "questions.yaml", "--live-tools").code == 0
    assert (folder / "note").read_text() == "real"


@pytest.mark.slow
def test_a_tool_of_an_mcp_server_is_described_by_it_and_not_called(
    kefu: Kefu,
    folder: Path,
    upstream: ScriptedUpstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server is another Kefu, at `/mcp`. Without the option it is asked for its tools alone."""
    learnt = folder / "shop.kefu"
    write(learnt, Run([Learnt(PAGE, {})], [], 1_800_000_000.0))
    upstream.script("*", Choosing(rule("help", "read_page", page=PAGE.url)))
    monkeypatch.setenv("PAGES_KEY", f"Bearer {KEY}")
    (folder / "questions.yaml").write_text(
        "- {name: given, ask: help, results: {read_page: Wet.}, expect: {contains: Wet.}}\n"
        "- {name: not given, ask: help, expect: {called: read_page}}\n"
    )
    with Service(None, (), knowledge=str(learnt), mcp="true", mcp_keys=KEY) as server:
        (folder / "kefu.toml").write_text(
            f'[tools.pages]\nmcp = "{server.url}/mcp"\nallow = ["read_page"]\n'
            'headers = { Authorization = "env:PAGES_KEY" }\n'
        )
        assert kefu("tools", "lock").code == 0
        ran = kefu("test", "questions.yaml")
        assert "1 passed, 1 failed" in ran.out, ran
        assert "read_page: was called, and the file gives no result for it" in ran.out
        ran = kefu("test", "questions.yaml", "--live-tools", "--steps")
        assert ran.code == 0, ran
        assert "Boots are dry." in ran.out
