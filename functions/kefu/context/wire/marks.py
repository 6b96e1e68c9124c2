"""Checksums by which a state recognizes its conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

from kefu.context.wire.shapes import shape_of


def mark(messages: Sequence[Any], stop: int) -> str:
    """A checksum of all messages before a position; empty if there is none. See `marks`."""
    return marks(messages, [stop])[0]


def marks(messages: Sequence[Any], stops: Sequence[int]) -> list[str]:
    """The checksums of the messages before each of these positions, read once.

    The checksum covers what the model reads of every message, but not the system prompt, which may
    have the time of day. It is the same for a client's object and for its JSON, and whatever is
    marked for a cache. It shows whether a state belongs to a conversation, but not a forgery.
    """
    made = {0: ""}
    checksum, at, length = 0, 0, len(messages)
    for stop in sorted({*stops}):
        if not at < stop <= length:
            continue
        for message in messages[at:stop]:
            checksum = _checksum(message, checksum)
        at = stop
        made[stop] = f"{checksum:08x}{stop:x}"
    return [made.get(stop, "") for stop in stops]


def _checksum(message: Any, before: int) -> int:
    if type(message) is dict and len(message) == 2:  # most messages are a role and a text
        content, role = message.get("content"), message.get("role")
        if type(content) is str and (role == "user" or role == "assistant"):  # noqa: PLR1714 -- faster
            return crc32(content.encode("utf-8", "surrogatepass"), before ^ _SALTS[role])
    if type(message) is dict and (text := _text_of_step(message)):
        salt = _SALTS[message["role"]]
        return crc32(text.encode("utf-8", "surrogatepass"), before ^ salt)
    shape = shape_of(message, "")
    if shape.role == "system":
        return before
    texts = [*shape.texts, *(call.id for call in shape.calls)]
    for result in shape.results:
        texts += result.call_id, result.text
    return crc32("\x1f".join(texts).encode("utf-8", "surrogatepass"), before ^ _SALTS[shape.role])


def _text_of_step(message: dict[str, Any]) -> str:
    """What a chat completion's tool call or result says, as read from its shape; "" for others."""
    content, size = message.get("content"), len(message)
    id, calls = message.get("tool_call_id"), message.get("tool_calls")
    if size != 3:
        return ""
    if type(id) is str and type(content) is str and message.get("role") == "tool":
        return f"{id}\x1f{content}"
    if type(calls) is not list or content is not None or message.get("role") != "assistant":
        return ""
    texts: list[str] = []
    ids: list[str] = []
    for call in calls:
        made, id = (call.get("function"), call.get("id")) if type(call) is dict else (None, None)
        if type(made) is not dict or not id:
            return ""
        name, arguments = made.get("name"), made.get("arguments")
        if type(name) is not str or type(arguments) is not str:
            return ""
        texts += name, arguments
        ids.append(id)
    return "\x1f".join(texts + ids)


_SALTS = {"user": 0x55555555, "assistant": 0x33333333, "tool": 0x0F0F0F0F}
"""Different for each role, so that the border between two messages cannot move unnoticed."""
