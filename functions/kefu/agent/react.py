"""The public names of the ReAct loop and its sessions."""

from __future__ import annotations

from kefu.agent.display import Piece, Splitter
from kefu.agent.grammar import parse
from kefu.agent.options import (
    AgentDeps,
    AgentOptions,
    BudgetAction,
    Step,
    TokenLimits,
    ToolPolicy,
    TurnError,
    TurnResult,
)
from kefu.agent.resume import Resumed, fork, prompts, resume
from kefu.agent.session import AgentSession, create_agent_session, run_agent

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
    "prompts",
    "resume",
    "run_agent",
]
