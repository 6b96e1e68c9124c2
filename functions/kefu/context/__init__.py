"""What of a conversation fits into one request. Standard library only: usable on its own."""

from __future__ import annotations

from kefu.context.assembly import build_llm_messages
from kefu.context.trim import STRATEGIES, Window, truncate_v1
from kefu.messages import Message, ToolCall

__all__ = [
    "STRATEGIES",
    "Message",
    "ToolCall",
    "Window",
    "build_llm_messages",
    "truncate_v1",
]
