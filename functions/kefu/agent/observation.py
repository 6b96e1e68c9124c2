"""Builds the messages that report tool results and format errors to the model."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kefu.agent.grammar import Mistake

_END = re.compile(r"<(?=\s*/\s*observation)", re.IGNORECASE)

_REPAIRS: dict[Mistake, str] = {
    "unterminated_action": "Your <action> had no end, so nothing was done. "
    'Write it again, whole: <action tool="NAME">INPUT</action>',
    "missing_tool": "Your <action> names none of the tools. There are: {tools}. "
    'Write: <action tool="NAME">INPUT</action>, or answer: <final>ANSWER</final>',
    "empty_final": "Your answer is empty. Write: <final>ANSWER</final>",
    "thought_only": "You only thought. Now act: "
    '<action tool="NAME">INPUT</action>, or answer: <final>ANSWER</final>',
}


def repair(mistake: Mistake, tools: Iterable[str]) -> str:
    """The message that explains the correct format. `tools` are the names of available tools."""
    return _REPAIRS[mistake].format(tools=joined_names(tools))


def joined_names(tools: Iterable[str]) -> str:
    """The names separated by commas, or `none`."""
    return ", ".join(tools) or "none"


def observation_message(content: str, tool: str | None = None) -> str:
    """The content between `<observation>` tags. End tags inside the content are escaped."""
    name = f' tool="{tool}"' if tool else ""
    return f"<observation{name}>{_END.sub('&lt;', content)}</observation>"
