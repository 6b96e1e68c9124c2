"""What a conversation is made of: frozen values, the same for every way into Kefu.

Named tuples, here and in all that `kefu.context` and `kefu.tokens` import: to import `dataclasses`
would take longer than to import the rest of the two.
"""

from __future__ import annotations

from kefu.lean_typing import Literal, NamedTuple

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
    """Important, by the user's or the service's word: `keep_important` keeps it. Not sent."""
    summary: bool = False
    """Stands for messages that are gone; its place is right after the system prompt. Not sent."""
