"""S8: every answer is shown once, also with malformed tags."""

from __future__ import annotations

import io
import re

import pytest

from kefu.terminal.markdown import MarkdownStream
from kefu.terminal.screen import Terminal
from tests.fakes.spoken import rig, text_tool


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


async def nothing(given: str) -> str:
    return "nothing"


ACTION = '<action tool="look">x</action>'
ANSWERS = {
    "plain": ["It is four."],
    "in tags": ["<thought>hm</thought><final>It is four.</final>"],
    "in an open thought": ["<thought>hm <final>It is four.</final>"],
    "behind an action": [f"Let me look. {ACTION}", "<final>It is four."],
    "behind an action, in an open thought": [f"Look. {ACTION}", "<thought>hm <final>It is four."],
    "behind a mistake": ["<final></final>", "It is four."],
}


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("stream", [Tty, io.StringIO])
async def test_s8_an_answer_is_on_standard_output_once(
    name: str, stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    out, err = stream(), stream()
    screen = Terminal(out, err, lambda: None)
    deps = {"on_event": screen.hear, "on_piece": screen.piece}
    talk = rig(*ANSWERS[name], tools=(text_tool("look", "", nothing),), deps=deps)
    screen.over(await talk.session.run_turn("what is 2 + 2?"))
    assert out.getvalue().count("It is four.") == 1
    if stream is io.StringIO:
        assert out.getvalue() == "It is four.\n"


@pytest.mark.parametrize(
    ("given", "whole"), [("6*7", ""), ("x" * 200, "x" * 200), ("a\nrm -r b", "a\nrm -r b")]
)
def test_s34_a_call_is_shown_whole_before_its_approval(given: str, whole: str) -> None:
    """Input that is too long for the line of the call is printed once, below it."""
    err = io.StringIO()
    Terminal(io.StringIO(), err, lambda: None).asking("calculate", given)
    assert err.getvalue().strip() == whole


MARKDOWN = "# Title\n\nHere:\n\n| a | b |\n|---|---|\n| `c` | d |\n\n```\ncode\n```\n\n> said\n"


def drawn(out: io.StringIO) -> str:
    stream = MarkdownStream(out)
    stream.feed(MARKDOWN)
    stream.end()
    return out.getvalue()


async def test_s8_blocks_stand_one_line_apart_and_headings_at_the_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """rich's margins around tables and code are removed. Nothing has a background colour, on dark
    or on light terminals.
    """
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert drawn(io.StringIO()).split("\n") == [
        *("Title", "", "Here:", "", " a  b", " ────", " c  d", "", " code", ""),
        *("▌ said", "", ""),
    ]
    coloured = drawn(Tty())
    assert "\x1b[1;36mc" in coloured
    assert not re.search(r"\x1b\[(?:\d+;)*4[0-7]m", coloured)
