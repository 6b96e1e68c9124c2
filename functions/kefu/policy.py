"""What the settings ask for, in the terms of the parts that do it."""

from __future__ import annotations

from collections.abc import Callable

from kefu.context import Budget, MessageCounter
from kefu.context.model_windows import resolve_window
from kefu.prompt import PromptPolicy, TrimPolicy
from kefu.settings import Settings
from kefu.tokens import counter
from kefu.upstream import local_model


def prompt_policy(settings: Settings, model: str, say: Callable[[str], None]) -> PromptPolicy:
    """`say` takes what the person running the service should look at."""
    return PromptPolicy(settings.system_prompt, settings.client_system, _trim(settings, model, say))


def _trim(settings: Settings, model: str, say: Callable[[str], None]) -> TrimPolicy:
    if settings.trim in ("v1", "off"):
        return TrimPolicy(settings.trim, Budget(settings.trim_chars, reserve=0))
    known = {local_model.NAME: local_model.CONTEXT_LENGTH}
    if settings.context_length:
        known[model] = settings.context_length
    window = resolve_window(model, known)
    length = window.context_length
    room = max(1, min(Budget(length).room, length - settings.max_output_tokens))
    limit = min(settings.max_prompt_tokens or room, room)
    if not window.resolved:
        say(
            f"The window of {model} is not known: {limit} tokens of prompt are assumed to fit. "
            "KEFU_CONTEXT_LENGTH says what it takes."
        )
    budget = Budget(limit, reserve=0, cut_step=settings.cut_step)
    return TrimPolicy(settings.trim, budget, _message_counter(settings.counter))


def _message_counter(name: str) -> MessageCounter:
    text = counter(name)
    if name.startswith("tiktoken:"):
        return MessageCounter(text.count, per_message=3, priming=3)
    return MessageCounter(text.count)
