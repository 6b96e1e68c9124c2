"""Checksums by which a state recognizes its conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

from kefu.context.wire.shapes import shape_of

_BLOCK = 256
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
            for message in self._messages[at:end]:
                role, text = _what_is_read(message)
                if role != "system":
                    data = text.encode("utf-8", "surrogatepass")
                    checksum = crc32(data, checksum ^ _SALTS[role])
            self._known[end] = checksum
            at = end
        return f"{checksum:08x}{stop:x}"


def mark(messages: Sequence[Any], stop: int) -> str:
    """The checksum of the messages before a position, as in `Marks`."""
    return Marks(messages).before(stop)


def _what_is_read(message: Any) -> tuple[str, str]:
    """The role of a message, and all that the model reads of it, as one text."""
    if type(message) is dict and len(message) <= 3 and "content" in message:  # as most are
        role, content = message.get("role"), message["content"]
        if type(content) is str:
            if len(message) == 2 and (role == "user" or role == "assistant"):  # noqa: PLR1714 -- faster
                return role, content
            if role == "tool" and type(id := message.get("tool_call_id")) is str:
                return role, f"{id}\x1f{content}"
        text = _text_of_calls(message.get("tool_calls")) if content is None else ""
        if text and role == "assistant":
            return role, text
    shape = shape_of(message, "")
    texts = [*shape.texts, *(call.id for call in shape.calls)]
    for result in shape.results:
        texts += result.call_id, result.text
    return shape.role, "\x1f".join(texts)


def _text_of_calls(calls: Any) -> str:
    """What a chat completion's dicts of tool calls say; "" for other calls."""
    texts: list[str] = []
    ids: list[str] = []
    try:
        for call in calls:
            made = call["function"]
            texts += made["name"], made["arguments"]
            ids.append(call["id"] or f"function:{made['name']}")
        return "\x1f".join(texts + ids)
    except (KeyError, TypeError):
        return ""


_SALTS = {"user": 0x55555555, "assistant": 0x33333333, "tool": 0x0F0F0F0F}
"""Different for each role, so that the border between two messages cannot move unnoticed."""
