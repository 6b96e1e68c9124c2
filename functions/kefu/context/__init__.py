"""Selects the messages of a conversation that fit into one request, and counts their tokens.

The package can be used as a library: it imports only the standard library, `kefu.messages` and
`kefu.errors`. Exact counts also need tiktoken (`pip install tiktoken`).
"""

from __future__ import annotations

from kefu.context.budget import Budget
from kefu.context.build import build_llm_messages
from kefu.context.conversation import Conversation
from kefu.context.cost import (
    BYTES4,
    CALIBRATED,
    CHARACTERS,
    AnyCounter,
    MessageCounter,
    counter_for,
    estimate_of,
    message_counter,
)
from kefu.context.manager import MessageContextManager
from kefu.context.model_windows import ModelWindow, resolve_window
from kefu.context.reports import Compaction, Forecast, Removed, State
from kefu.context.stages import (
    PIPELINES,
    CapToolResults,
    ClearToolResults,
    DropTurns,
    ReplaceBySummary,
    Stage,
)
from kefu.context.state import ToSummarize, TrimState
from kefu.context.summarized import trim_with_summary
from kefu.context.summary import Summarize
from kefu.context.summary_request import summary_request
from kefu.context.tokens import estimate_message_tokens
from kefu.context.trim import STRATEGIES, Strategy, truncate_v1, window_for
from kefu.context.trimmed import Trimmed, trim_messages
from kefu.context.window import LeftOut, Reason, View, Window
from kefu.messages import Message, ToolCall

__all__ = [
    "BYTES4",
    "CALIBRATED",
    "CHARACTERS",
    "PIPELINES",
    "STRATEGIES",
    "AnyCounter",
    "Budget",
    "CapToolResults",
    "ClearToolResults",
    "Compaction",
    "Conversation",
    "DropTurns",
    "Forecast",
    "LeftOut",
    "Message",
    "MessageContextManager",
    "MessageCounter",
    "ModelWindow",
    "Reason",
    "Removed",
    "ReplaceBySummary",
    "Stage",
    "State",
    "Strategy",
    "Summarize",
    "ToSummarize",
    "ToolCall",
    "TrimState",
    "Trimmed",
    "View",
    "Window",
    "build_llm_messages",
    "counter_for",
    "estimate_message_tokens",
    "estimate_of",
    "message_counter",
    "resolve_window",
    "summary_request",
    "trim_messages",
    "trim_with_summary",
    "truncate_v1",
    "window_for",
]
