"""Defines the messages of a conversation, as immutable values that all packages share.

The modules that `kefu.context` imports use named tuples, because importing `dataclasses` takes
longer than importing all of `kefu.context`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Role = Literal["system", "user", "assistant", "tool"]


class ToolCall(NamedTuple):
    id: str
    name: str
    arguments: str


class Message(NamedTuple):
    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    pinned: bool = False
    """Whether the user or the service has marked the message as important, so that the strategy
    `keep_important` keeps it. Not sent to the model.
    """
    summary: bool = False
    """Whether the message is a summary of dropped messages. A summary follows the system prompt.
    The flag is not sent to the model.
    """
    reasoning: str = ""
    """What a model thought before its tool calls, in `reasoning_content`: some models want it back.
    """
