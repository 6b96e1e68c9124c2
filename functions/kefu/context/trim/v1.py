"""The chat endpoint's own rule: by characters, in whole turns, oldest first."""

from __future__ import annotations

from collections.abc import Sequence

from kefu.context.trim.window import Window
from kefu.messages import Message
from kefu.tokens import utf16_length


def truncate_v1(messages: Sequence[Message], max_chars: int = 6000) -> Window:
    """Drop the oldest turns of a conversation of more than `max_chars` until it is below that.

    Characters are UTF-16 units of all contents, the system prompt included. A turn is a user
    message and everything up to the next one; what stands before the first turn, a greeting, goes
    first and with it. System messages and the last turn always stay, even if they are too long.
    Exactly `max_chars` is not too long, but a cut that lands exactly there goes one turn further.
    """
    lengths = [utf16_length(message.content) for message in messages]
    total = sum(lengths)
    if total <= max_chars:
        return Window(tuple(messages))
    starts = [i for i, message in enumerate(messages) if message.role == "user"]
    cut = 0
    # A cut before turn 1 drops turn 0 and a greeting; with one turn alone, only a greeting can go.
    for end in starts[1:] or starts:
        if total < max_chars:
            break
        going = zip(messages[cut:end], lengths[cut:end], strict=True)
        total -= sum(length for message, length in going if message.role != "system")
        cut = end
    older = messages[:cut]
    return Window(
        messages=(*(m for m in older if m.role == "system"), *messages[cut:]),
        dropped=tuple(m for m in older if m.role != "system"),
    )
