from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from kefu.tools import Workplace, tools_for
from kefu.upstream.public_web import PublicWeb

NOW = 1_784_000_000.0

Ask = Callable[[str, str], Awaitable[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The working directory, with a neighbour that nobody may read."""
    (tmp_path / "secret.txt").write_text("the neighbour's secret")
    here = tmp_path / "work"
    here.mkdir()
    (here / "notes.txt").write_text("first\nsecond\nthird\n", encoding="utf-8")
    (here / "docs").mkdir()
    (here / "docs" / "意见.md").write_text("# 好\n", encoding="utf-8")
    return here


@pytest.fixture
def ask(folder: Path) -> Ask:
    """Calls a tool by its name, with an input as a model writes it."""
    hosts = frozenset({"localhost", "2130706433", "0x7f.1", "127.1", "[::1]", "::1", "127.0.0.1"})
    place = Workplace(folder, lambda: NOW, PublicWeb().get, hosts)
    tools = {tool.name: tool for tool in tools_for(place)}

    async def call(name: str, text: str) -> str:
        return await tools[name].call(text)

    return call
