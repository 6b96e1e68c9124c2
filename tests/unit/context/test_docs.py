"""docs/context.md and its reference, compared with the library."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

from kefu.context import (
    STRATEGIES,
    Budget,
    Message,
    MessageCounter,
    ToolCall,
    Window,
    trim_with_summary,
    window_for,
)

DOCS = Path(__file__).parents[3] / "docs"
PAGES = [(DOCS / f"{name}.md").read_text("utf-8") for name in ("context", "context-reference")]


def calls(*ids: str) -> Message:
    return Message("assistant", "", tuple(ToolCall(id, "f", "") for id in ids))


def result(of: str) -> Message:
    return Message("tool", "", tool_call_id=of)


TALK = {
    "S": Message("system", ""),
    "Q1": Message("user", ""),
    "A1": Message("assistant", ""),
    "Q2*": Message("user", "", pinned=True),
    "A2": Message("assistant", ""),
    "C2": calls("2"),
    "Q3": Message("user", ""),
    "C3": calls("a", "b"),
    "Ra": result("a"),
    "Rb": result("b"),
    "A3": Message("assistant", ""),
    "Q4": Message("user", ""),
    "C4": calls("4"),
    "R4": result("4"),
}
ONE_EACH = MessageCounter(lambda _: 0, per_message=1)


async def tell(messages: Sequence[Message], previous: str) -> str:
    return "again"


def row(name: str, window: Window) -> str:
    signs = {"budget": ".", "broken_tool_group": "x", "summarized": "~"}
    out = {at: signs[run.reason] for run in window.left_out for at in range(run.start, run.stop)}
    cells = [out.get(at, "#") for at in range(len(TALK))]
    if any(message.summary for message in window.messages):
        cells[0] += "+"
    return _line(name, cells)


def _line(name: str, cells: Sequence[str]) -> str:
    return (name.ljust(28) + "".join(cell.ljust(4) for cell in cells)).rstrip()


def picture() -> str:
    whole, room = list(TALK.values()), Budget(10, reserve=0)
    lines = [_line("", list(TALK))]
    lines.append(row("any, with room for all", window_for(whole, Budget(99), "fifo", ONE_EACH)))
    lines += [row(name, window_for(whole, room, name, ONE_EACH)) for name in STRATEGIES]
    few = Budget(10, reserve=0, max_messages=7)
    at_most = row("  with max_messages=7", window_for(whole, few, "sliding_window", ONE_EACH))
    lines.insert(4, at_most)
    told = asyncio.run(trim_with_summary(whole, room, tell, ONE_EACH))
    return "\n".join([*lines, row("summary", told)])


def test_the_picture_of_a_window_is_what_the_strategies_do() -> None:
    """X9, X12: the page's diagram shows the messages that each strategy keeps."""
    (shown,) = re.findall(r"^```text\n(.*?)\n```$", PAGES[1], re.MULTILINE | re.DOTALL)
    assert shown == picture()


def test_the_examples_run() -> None:
    """The strategy that the last example adds works like the built-in ones."""
    names: dict[str, object] = {}
    for example in re.findall(r"^```python\n(.*?)^```$", "".join(PAGES), re.MULTILINE | re.DOTALL):
        exec(compile(example, "context.md", "exec"), names)
    try:
        whole = [Message("user", text) for text in ("first", "second", "third", "fourth")]
        window = window_for(whole, Budget(3, reserve=0), "keep_first", ONE_EACH)
        assert [m.content for m in window.messages] == ["first", "third", "fourth"]
    finally:
        del STRATEGIES["keep_first"]
