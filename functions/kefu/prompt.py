"""From a client's messages to what the model is asked: the system prompt, the trimmed history."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal

from kefu.context import (
    CHARACTERS,
    Budget,
    MessageCounter,
    Summarize,
    Window,
    trim_messages,
    trim_with_summary,
)
from kefu.errors import InvalidRequest
from kefu.lean_typing import NamedTuple
from kefu.messages import Message

ClientSystem = Literal["auto", "append", "drop", "reject"]

SUMMARY = "summary"
OFF = "off"


class TrimPolicy(NamedTuple):
    """How a conversation is cut to what the model takes."""

    strategy: str = "v1"
    """A name in `STRATEGIES`, `summary` or `off`."""
    budget: Budget = Budget(6000, reserve=0)
    """In the counter's unit: characters for `v1`, else tokens."""
    counter: MessageCounter = CHARACTERS


class PromptPolicy(NamedTuple):
    system_prompt: str = ""
    client_system: ClientSystem = "auto"
    trim: TrimPolicy = TrimPolicy()


class Prompt(NamedTuple):
    window: Window
    """What is sent, what is not, and why."""
    client_system_dropped: bool = False

    @property
    def messages(self) -> Sequence[Message]:
        return self.window.messages


def build_prompt(messages: Sequence[Message], policy: PromptPolicy) -> Prompt:
    """The conversation with its system prompt, without what has no room.

    Where there is to be a summary, this is what goes to the model if there is none.
    Raises InvalidRequest when the policy rejects the client's system message.
    """
    whole, theirs_dropped = _conversation(messages, policy)
    trim = policy.trim
    if trim.strategy == OFF:
        return Prompt(Window(whole), theirs_dropped)
    strategy = "fifo" if trim.strategy == SUMMARY else trim.strategy
    return Prompt(trim_messages(whole, trim.budget, strategy, trim.counter), theirs_dropped)


async def build_prompt_with_summary(
    messages: Sequence[Message], policy: PromptPolicy, summarize: Summarize
) -> Prompt:
    """The same, with a summary of what has no room."""
    whole, theirs_dropped = _conversation(messages, policy)
    trim = policy.trim
    window = await trim_with_summary(whole, trim.budget, summarize, trim.counter)
    return Prompt(window, theirs_dropped)


def _conversation(
    messages: Sequence[Message], policy: PromptPolicy
) -> tuple[tuple[Message, ...], bool]:
    """The server's own system prompt is always first, and there is never a second one.

    `messages` is an optional leading system message, then user and assistant messages, the last
    of them the user's. The second value: whether the client's system message was left out.
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
    return whole, bool(theirs) and theirs not in system


def tightened(policy: PromptPolicy, prompt: Prompt) -> PromptPolicy:
    """A policy that lets through half of what a model has found too long."""
    trim = policy.trim
    if trim.strategy == OFF:
        length = sum(CHARACTERS(message) for message in prompt.messages)
        half = TrimPolicy(budget=Budget(max(1, length // 2), reserve=0))
    else:
        limit = max(1, prompt.window.tokens // 2)
        half = trim._replace(budget=trim.budget._replace(limit=limit, reserve=0))
    return policy._replace(trim=half)


def request_body(
    messages: Sequence[Message], model: str, temperature: float, max_tokens: int
) -> bytes:
    """The whole JSON that goes to the upstream: nothing of the client's body but what is here."""
    body = {
        "model": model,
        "messages": [{"role": m.role, "content": m.content} for m in messages],
        "temperature": temperature,
        "max_tokens": max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    # Half of a character, from a model that was cut there, goes out as its escape.
    return text.encode(errors="backslashreplace")
