"""What of a conversation fits into one request. Standard library only: usable on its own."""

from __future__ import annotations

from kefu.context.assembly import build_llm_messages
from kefu.context.budget import Budget
from kefu.context.cost import BYTES4, CHARACTERS, MessageCounter
from kefu.context.exchange import Conversation
from kefu.context.model_windows import ModelWindow, resolve_window
from kefu.context.trim import (
    STRATEGIES,
    Strategy,
    Summarize,
    trim_messages,
    trim_with_summary,
    truncate_v1,
)
from kefu.context.window import LeftOut, Reason, View, Window
from kefu.messages import Message, ToolCall

__all__ = [
    "BYTES4",
    "CHARACTERS",
    "STRATEGIES",
    "Budget",
    "Conversation",
    "LeftOut",
    "Message",
    "MessageCounter",
    "ModelWindow",
    "Reason",
    "Strategy",
    "Summarize",
    "ToolCall",
    "View",
    "Window",
    "build_llm_messages",
    "resolve_window",
    "trim_messages",
    "trim_with_summary",
    "truncate_v1",
]
