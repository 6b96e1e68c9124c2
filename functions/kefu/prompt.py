"""From a client's messages to what the model is asked: the system prompt, the trimmed history."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kefu.context import CHARACTERS, Budget, trim_messages
from kefu.errors import InvalidRequest
from kefu.messages import Message

ClientSystem = Literal["auto", "append", "drop", "reject"]


@dataclass(frozen=True, slots=True)
class PromptPolicy:
    system_prompt: str = ""
    client_system: ClientSystem = "auto"
    trim: str = "v1"
    """A name in `STRATEGIES`, or `off`."""
    max_chars: int = 6000


@dataclass(frozen=True, slots=True)
class Prompt:
    messages: tuple[Message, ...]
    dropped: tuple[Message, ...] = ()
    """Trimmed away, oldest first."""
    client_system_dropped: bool = False

    @property
    def chars(self) -> int:
        return sum(len(message.content) for message in self.messages)


def build_prompt(messages: Sequence[Message], policy: PromptPolicy) -> Prompt:
    """The server's own system prompt is always first, and there is never a second one.

    `messages` is an optional leading system message, then user and assistant messages, the last
    of them the user's. Raises InvalidRequest when the policy rejects the client's system message.
    """
    theirs = messages[0].content if messages[0].role == "system" else ""
    rest = messages[1:] if messages[0].role == "system" else messages
    if theirs and policy.client_system == "reject":
        raise InvalidRequest("A system message is not accepted here.", param="messages.0.role")
    ours = policy.system_prompt
    if policy.client_system == "append":
        system = "\n\n".join(filter(None, (ours, theirs)))
    elif policy.client_system == "auto":
        system = ours or theirs
    else:
        system = ours
    whole = (*((Message("system", system),) if system else ()), *rest)
    dropped_theirs = bool(theirs) and theirs not in system
    if policy.trim == "off":
        return Prompt(whole, client_system_dropped=dropped_theirs)
    window = trim_messages(whole, Budget(policy.max_chars, reserve=0), policy.trim, CHARACTERS)
    return Prompt(tuple(window.messages), tuple(window.dropped), dropped_theirs)


def tightened(policy: PromptPolicy, prompt: Prompt) -> PromptPolicy:
    """A policy that lets through half of what a model has found too long."""
    trim = "v1" if policy.trim == "off" else policy.trim
    return replace(policy, trim=trim, max_chars=max(1, prompt.chars // 2))


def request_body(prompt: Prompt, model: str, temperature: float, max_tokens: int) -> bytes:
    """The whole JSON that goes to the upstream: nothing of the client's body but what is here."""
    body = {
        "model": model,
        "messages": [{"role": m.role, "content": m.content} for m in prompt.messages],
        "temperature": temperature,
        "max_tokens": max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
