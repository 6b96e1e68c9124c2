"""The message that holds a summary of older messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from kefu.messages import Message

_OPEN, _CLOSE = "<conversation_summary>\n", "\n</conversation_summary>"


class Summarize(Protocol):
    """A function of the caller that has a model write a summary."""

    async def __call__(self, messages: Sequence[Message], previous: str) -> str:
        """Returns one summary of the `previous` summary and of `messages`, oldest first.

        `previous` is empty the first time. If `summarize` fails or returns "", no summary is made;
        the next trimming tries again.
        """


def summary_text(message: Message) -> str:
    """The text of a summary message, without the tags around it."""
    return message.content.removeprefix(_OPEN).removesuffix(_CLOSE)


def summary_message(text: str, allowance: int, count: Callable[[Message], int]) -> Message | None:
    """The summary message, cut at the end to fit the allowance; None if nothing fits."""
    while text:
        # Not a system message: a summary repeats users' words, which must not gain authority.
        closed = without_end_tag(text, "conversation_summary")
        message = Message("user", f"{_OPEN}{closed}{_CLOSE}", summary=True)
        cost = count(message)
        if cost <= allowance:
            return message
        text = text[: min(len(text) - 1, len(text) * allowance // cost)].rstrip()
    return None


def without_end_tag(text: str, tag: str) -> str:
    """The text without valid end tags whose names begin with `tag`: none can end it early."""
    if "<" not in text:
        return text
    import re  # imported here because it is rarely needed and slows the import of the library

    return re.sub(rf"(?i)<(?=\s*/\s*{tag})", "<\u200b", text)
