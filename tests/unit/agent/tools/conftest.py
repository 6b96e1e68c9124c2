from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from kefu.agent.tools import Workplace, tools_for
from kefu.upstream.public_web import PublicWeb
from tests.fakes.spoken import result_of

NOW = 1_784_000_000.0

Ask = Callable[[str, str], Awaitable[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The working directory. The folder that contains it has a file that tools must not read."""
    (tmp_path / "secret.txt").write_text("the neighbour's secret")
    here = tmp_path / "work"
    here.mkdir()
    (here / "notes.txt").write_text("first\nsecond\nthird\n", encoding="utf-8")
    (here / "docs").mkdir()
    (here / "docs" / "意见.md").write_text("# 好\n", encoding="utf-8")
    return here


@pytest.fixture
async def ask(folder: Path) -> AsyncIterator[Ask]:
    """Calls a tool by name, with input as a model writes it."""
    hosts = frozenset({"localhost", "2130706433", "0x7f.1", "127.1", "[::1]", "::1", "127.0.0.1"})
    place = Workplace(folder, lambda: NOW, PublicWeb().get, hosts)
    tools = {tool.name: tool for tool in tools_for(place)}

    async def call(name: str, text: str) -> str:
        return await result_of(tools[name], text)

    yield call
    await place.processes.aclose()
