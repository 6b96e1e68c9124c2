"""What a conversation is made of: frozen values, the same for every way into Kefu."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    pinned: bool = False
    """Important, by the user's or the service's word: `keep_important` keeps it. Not sent."""
    summary: bool = False
    """Stands for messages that are gone; its place is right after the system prompt. Not sent."""
