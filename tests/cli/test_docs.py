"""docs/terminal.md, compared with the commands and tools that exist."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from kefu.agent.tools import TOOLS, Workplace, tool_of
from kefu.cli.parser import parser
from kefu.terminal.slash_commands import COMMANDS
from kefu.upstream.public_web import PublicWeb
from tests.fakes.spoken import result_of

PAGE = (Path(__file__).parents[2] / "docs" / "terminal.md").read_text(encoding="utf-8")


async def test_the_tool_that_the_page_adds_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S34: the code of the page, with input as a model writes it."""
    (source,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "word_count.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    place = Workplace(tmp_path, lambda: 0.0, PublicWeb().get)
    tool = tool_of(import_module("word_count").word_count, place)
    assert tool.description == "Count the words of a text. Input: text."
    assert await result_of(tool, "three short words") == "3"
    await place.processes.aclose()


def test_the_page_lists_every_command_and_tool() -> None:
    """S7, S34: and no others."""
    told = set(re.findall(r"`/([a-z]+)(?: FILE| ID)?`", PAGE)) - {"x"}
    assert told == set(COMMANDS)
    assert set(re.findall(r"^\| `([a-z_]+)` \|", PAGE, re.MULTILINE)) == set(TOOLS)


def test_the_commands_of_the_page_are_valid() -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if "kefu " in line]
    assert len(lines) > 8
    for line in lines:
        call = re.split(r" [<>] | {2,}#", line.rpartition("| ")[2])[0]
        words = re.findall(r'"[^"]*"|\S+', call)
        parser().parse_args([word.strip('"') for word in words[1:]])
