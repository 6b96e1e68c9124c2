"""What of a conversation fits into one request. Standard library only: usable on its own."""

from __future__ import annotations

from kefu.context.assembly import build_llm_messages
from kefu.context.budget import Budget
from kefu.context.cost import BYTES4, CALIBRATED, CHARACTERS, MessageCounter, message_counter
from kefu.context.exchange import Conversation
from kefu.context.manager import Compaction, Forecast, MessageContextManager, Removed, State
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
    "CALIBRATED",
    "CHARACTERS",
    "STRATEGIES",
    "Budget",
    "Compaction",
    "Conversation",
    "Forecast",
    "LeftOut",
    "Message",
    "MessageContextManager",
    "MessageCounter",
    "ModelWindow",
    "Reason",
    "Removed",
    "State",
    "Strategy",
    "Summarize",
    "ToolCall",
    "View",
    "Window",
    "build_llm_messages",
    "message_counter",
    "resolve_window",
    "trim_messages",
    "trim_with_summary",
    "truncate_v1",
]
