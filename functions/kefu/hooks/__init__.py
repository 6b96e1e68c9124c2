"""What a site may switch on in its kept chats: docs/sessions.md tells how to write one more."""

from __future__ import annotations

from collections.abc import Callable

from kefu.hooks.commands import Commands
from kefu.hooks.correction import TextCorrection
from kefu.hooks.facts import CurrentDate, SessionFacts, UserProfile
from kefu.hooks.hook import BadOptions, Filter, Given, Hook, Reply, Visit
from kefu.hooks.importance import Importance
from kefu.hooks.summary import Summary
from kefu.hooks.token_budget import TokenBudget
from kefu.hooks.word_filter import WordFilter

HookFactory = Callable[[Given], Hook]
"""Makes a hook, once, at the start. Raises BadOptions."""

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
    "BadOptions",
    "Filter",
    "Given",
    "Hook",
    "HookFactory",
    "Reply",
    "Visit",
]
