"""The order of a prompt, and which part of the history a token budget leaves in it."""

from __future__ import annotations

from collections.abc import Sequence

from kefu.messages import Message
from kefu.tokens import estimate_message_tokens


def build_llm_messages(
    system_prompt: str,
    history: Sequence[Message],
    current_user_message: str,
    max_token_budget: int,
) -> list[Message]:
    """`[system, *history, current]`, without the oldest messages if it would not fit.

    Tokens are those of `estimate_message_tokens`, nothing is added per message, and a total equal
    to the budget fits. System and current stay even when the two alone exceed it; then no history
    is left. What is kept of the history is an unbroken run up to its end.
    """
    system = Message("system", system_prompt)
    current = Message("user", current_user_message)
    room = max_token_budget
    room -= estimate_message_tokens(system_prompt) + estimate_message_tokens(current_user_message)
    return [system, *history[_first_that_fits(history, room) :], current]


def _first_that_fits(history: Sequence[Message], room: int) -> int:
    """Where the longest end of the history begins that takes up at most `room` tokens.

    From the newest backwards: a long history costs no more than what is kept of it.
    """
    start = len(history)
    while start and room >= 0:
        room -= estimate_message_tokens(history[start - 1].content)
        if room >= 0:
            start -= 1
    return start
