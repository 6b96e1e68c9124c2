"""What one message costs, whatever its text is counted with."""

from __future__ import annotations

from collections.abc import Callable

from kefu.messages import Message
from kefu.tokens import counter, estimate_calibrated, estimate_message_tokens, utf16_length


class MessageCounter:
    """Content, and the name and arguments of every tool call, each text counted by itself."""

    __slots__ = ("count", "per_message", "priming")

    def __init__(self, count: Callable[[str], int], per_message: int = 0, priming: int = 0) -> None:
        self.count = count
        self.per_message = per_message
        """What the chat format adds to each message: 3 for exact counts of OpenAI's models."""
        self.priming = priming
        """What it adds once a prompt: 3 there. Estimates have it in their error anyway."""

    def __call__(self, message: Message) -> int:
        tokens = self.per_message + self.count(message.content)
        for call in message.tool_calls:
            tokens += self.count(call.name) + self.count(call.arguments)
        return tokens


def message_counter(name: str, *, overhead: bool | None = None) -> MessageCounter:
    """One of `kefu.tokens.counter`'s; exact ones add 3 per message and 3 a prompt, unless told.

    Raises what `kefu.tokens.counter` raises: UnknownCounter, TiktokenMissing.
    """
    text = counter(name)
    if overhead is None:
        overhead = text.name.startswith("tiktoken:")
    return MessageCounter(text.count, 3, 3) if overhead else MessageCounter(text.count)


CALIBRATED = MessageCounter(estimate_calibrated)
BYTES4 = MessageCounter(estimate_message_tokens)
CHARACTERS = MessageCounter(utf16_length)
"""Not tokens: the unit of `truncate_v1`."""
