"""docs/terminal.md, held against what it tells of."""

from __future__ import annotations

import re
from pathlib import Path

from kefu.__main__ import parser
from kefu.cli.commands import COMMANDS
from kefu.tools import TOOLS, ToolFunction, Workplace, tool_of
from kefu.upstream.public_web import PublicWeb

PAGE = (Path(__file__).parents[2] / "docs" / "terminal.md").read_text(encoding="utf-8")


async def test_the_tool_that_the_page_adds_works(tmp_path: Path) -> None:
    """S34: word for word, with the input as a model writes it."""
    (source,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    made: dict[str, ToolFunction] = {}
    exec(compile(source, "word_count.py", "exec"), made)
    tool = tool_of(made["word_count"], Workplace(tmp_path, lambda: 0.0, PublicWeb().get))
    assert tool.description == "Count the words of a text. Input: text."
    assert await tool.call("three short words") == "3"


def test_the_page_tells_of_every_command_and_tool() -> None:
    """S7, S34: and of none that is not there."""
    told = set(re.findall(r"`/([a-z]+)(?: FILE| ID)?`", PAGE)) - {"x"}
    assert told == set(COMMANDS)
    assert set(re.findall(r"^\| `([a-z_]+)` \|", PAGE, re.MULTILINE)) == set(TOOLS)


def test_what_the_page_types_is_understood() -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if "kefu " in line]
    assert len(lines) > 8
    for line in lines:
        call = re.split(r" [<>] | {2,}#", line.rpartition("| ")[2])[0]
        words = re.findall(r'"[^"]*"|\S+', call)
        parser().parse_args([word.strip('"') for word in words[1:]])
