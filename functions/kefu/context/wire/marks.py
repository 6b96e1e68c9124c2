"""Checksums by which a state recognizes its conversation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from zlib import crc32

from kefu.context.wire.shapes import shape_of
from kefu.messages import Message

_BLOCK = 128
"""Messages."""


class Marks:
    """Checksums of the first messages of one conversation, each of which is read once.

    A checksum covers what the model reads of every message before a position, but not the system
    prompt, which may have the time of day. It is the same for a client's object and for its JSON,
    and whatever is marked for a cache. It shows whether a state belongs to a conversation, but not
    a forgery.
    """

    def __init__(self, messages: Sequence[Any]) -> None:
        self._messages = messages
        self._known = {0: 0}
        """Checksums by position, one for each block at least."""

    def before(self, stop: int) -> str:
        """The checksum of the messages before a position; empty if there is none."""
        if not 0 < stop <= len(self._messages):
            return ""
        at = max(known for known in self._known if known <= stop)
        checksum = self._known[at]
        while at < stop:
            end = min(stop, at + _BLOCK)
            text = "\x1f".join(_what_is_read(self._messages[at:end]))
            checksum = crc32(text.encode("utf-8", "surrogatepass"), checksum)
            self._known[end] = checksum
            at = end
        return f"{checksum:08x}{stop:x}"


def mark(messages: Sequence[Any], stop: int) -> str:
    """The checksum of the messages before a position, as in `Marks`."""
    return Marks(messages).before(stop)


def _what_is_read(messages: Iterable[Any]) -> list[str]:
    """The role of each message and all that the model reads of it; "" at the end."""
    texts: list[str] = []
    for message in messages:
        if type(message) is dict and len(message) <= 3:  # as most are
            role, content = message.get("role"), message.get("content")
            if type(content) is str:
                if len(message) == 2 and (role == "user" or role == "assistant"):  # noqa: PLR1714 -- faster
                    texts += role, content
                    continue
                if role == "tool" and type(id := message.get("tool_call_id")) is str:
                    texts += role, id, content
                    continue
            is_call = content is None and role == "assistant" and "content" in message
            if is_call and _add_call(message.get("tool_calls"), texts):
                continue
        elif isinstance(message, Message) and not message.tool_calls:
            if message.role == "tool":
                texts += "tool", message.tool_call_id or "", message.content
            elif message.role != "system":
                texts += message.role, message.content
            continue
        _add_shape(message, texts)
    texts.append("")
    return texts


def _add_call(calls: Any, texts: list[str]) -> bool:
    """Add what the only tool call of a chat completion says; False for any other calls."""
    try:
        [call] = calls
        made, id = call["function"], call["id"]
        name = made["name"]
        said = "assistant", name, made["arguments"], id or f"function:{name}"
        texts.append("\x1f".join(said))
    except (KeyError, TypeError, ValueError):
        return False
    return True


def _add_shape(message: Any, texts: list[str]) -> None:
    shape = shape_of(message, "")
    if shape.role != "system":
        texts += shape.role, *shape.texts, *[call.id for call in shape.calls]
        for result in shape.results:
            texts += result.call_id, result.text
