"""How the model is told what came of its words: the messages that are written back."""

from __future__ import annotations

import re

from kefu.react.grammar import Mistake

_END = re.compile(r"<(?=\s*/\s*observation)", re.IGNORECASE)

REPAIRS: dict[Mistake, str] = {
    "unterminated_action": "Your <action> had no end, so nothing was done. "
    'Write it again, whole: <action tool="NAME">INPUT</action>',
    "missing_tool": "Your <action> names no tool. "
    'Write: <action tool="NAME">INPUT</action>, or answer: <final>ANSWER</final>',
    "empty_final": "Your answer is empty. Write: <final>ANSWER</final>",
    "thought_only": "You only thought. Now act: "
    '<action tool="NAME">INPUT</action>, or answer: <final>ANSWER</final>',
}


def written_back(content: str, tool: str | None = None) -> str:
    """The text of the user message; nothing in `content` can end it early."""
    name = f' tool="{tool}"' if tool else ""
    return f"<observation{name}>{_END.sub('&lt;', content)}</observation>"
