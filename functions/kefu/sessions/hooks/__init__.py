"""The hooks that a site can enable for stored chats. docs/hooks.md explains how to write a hook."""

from __future__ import annotations

from collections.abc import Callable

from kefu.sessions.hooks.commands import Commands
from kefu.sessions.hooks.correction import TextCorrection
from kefu.sessions.hooks.facts import CurrentDate, SessionFacts, UserProfile
from kefu.sessions.hooks.hook import (
    BadOptions,
    EndedTurn,
    Filter,
    Hook,
    HookConfig,
    HookContext,
    Reply,
)
from kefu.sessions.hooks.loading import BadHook, LoadedHook, loaded
from kefu.sessions.hooks.steps import ON_AWS, Hooks
from kefu.sessions.hooks.trimming import Importance, Summary, TokenBudget
from kefu.sessions.hooks.word_filter import WordFilter
from kefu.sessions.store.contacts import ContactRequest

Visit = HookContext
"""The name of `HookContext` in Kefu 0.1."""

HookFactory = Callable[[HookConfig], Hook]
"""Creates a hook when the service starts. Raises BadOptions."""

HOOKS: dict[str, HookFactory] = {
    "commands": Commands,
    "current_date": CurrentDate,
    "importance": Importance,
    "session_facts": SessionFacts,
    "summary": Summary,
    "text_correction": TextCorrection,
    "token_budget": TokenBudget,
    "user_profile": UserProfile,
    "word_filter": WordFilter,
}

__all__ = [
    "HOOKS",
    "ON_AWS",
    "BadHook",
    "BadOptions",
    "ContactRequest",
    "EndedTurn",
    "Filter",
    "Hook",
    "HookConfig",
    "HookContext",
    "HookFactory",
    "Hooks",
    "LoadedHook",
    "Reply",
    "Visit",
    "loaded",
]
