"""Builds a prompt of system prompt, history and user message within a token budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kefu.context.tokens import estimate_message_tokens
from kefu.messages import Message


def build_llm_messages(
    system_prompt: str,
    history: Sequence[Message | Mapping[str, object]],
    current_user_message: str,
    max_token_budget: int,
) -> list[Message]:
    """Returns `[system, *history, current]`; drops the oldest messages if the budget is too small.

    Tokens are counted with `estimate_message_tokens`, without overhead per message. A total equal
    to the budget fits. The system prompt and the user message are always kept. If these two exceed
    the budget, the history is dropped. The kept history is a contiguous run of the newest messages.
    A message of the history may be a chat completion's: see `Message.of`.
    """
    system = Message("system", system_prompt)
    current = Message("user", current_user_message)
    room = max_token_budget
    room -= estimate_message_tokens(system_prompt) + estimate_message_tokens(current_user_message)
    own = [Message.of(message) for message in history]
    return [system, *own[_first_that_fits(own, room) :], current]


def _first_that_fits(history: Sequence[Message], room: int) -> int:
    """The start of the longest suffix of the history that has at most `room` tokens.

    Messages are counted from the newest, so messages that are dropped are not counted.
    """
    start = len(history)
    while start and room >= 0:
        room -= estimate_message_tokens(history[start - 1].content)
        if room >= 0:
            start -= 1
    return start
