"""The think/act loop on top of the relay, and the session it works in."""

from __future__ import annotations

from kefu.react.display import Piece, Splitter
from kefu.react.grammar import parse
from kefu.react.options import (
    AgentDeps,
    AgentOptions,
    BudgetAction,
    Step,
    TokenLimits,
    ToolPolicy,
    TurnError,
    TurnResult,
)
from kefu.react.resume import Resumed, fork, replay, resume
from kefu.react.session import AgentSession, create_agent_session, run_agent

__all__ = [
    "AgentDeps",
    "AgentOptions",
    "AgentSession",
    "BudgetAction",
    "Piece",
    "Resumed",
    "Splitter",
    "Step",
    "TokenLimits",
    "ToolPolicy",
    "TurnError",
    "TurnResult",
    "create_agent_session",
    "fork",
    "parse",
    "replay",
    "resume",
    "run_agent",
]
