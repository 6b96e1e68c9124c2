"""Defines the messages of a conversation, as immutable values that all packages share.

The modules that `kefu.context` imports use named tuples, because importing `dataclasses` takes
longer than importing all of `kefu.context`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Self

Role = Literal["system", "user", "assistant", "tool"]

APPROVAL = "approval-"
"""The start of the `client_message_id` of every click on a card."""


def is_click(client_message_id: str | None) -> bool:
    """Whether a message is a click on a card, and so no question of a visitor."""
    return (client_message_id or "").startswith(APPROVAL)


class ToolCall(NamedTuple):
    id: str
    name: str
    arguments: str


class Image(NamedTuple):
    """An image of a visitor, without metadata: `kefu.images` makes it."""

    type: str
    """Such as `image/jpeg`."""
    width: int
    """In pixels, as `height`."""
    height: int
    data: bytes
    id: str = ""
    """Its id in a stored chat."""


class Message(NamedTuple):
    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    pinned: bool = False
    """Whether the user or the service has marked the message as important, so that the strategy
    `keep_important` keeps it. Not sent to the model.
    """
    summary: bool = False
    """Whether the message is a summary of dropped messages. A summary follows the system prompt.
    The flag is not sent to the model.
    """
    reasoning: tuple[tuple[str, str], ...] = ()
    """What a model thought before its tool calls, as pairs of a field of `REASONING_FIELDS` and its
    text. Some models want it back, in the same field.
    """
    images: tuple[Image, ...] = ()
    """The images of a visitor's message, which the model sees. Trimming does not count them."""

    @classmethod
    def of(cls, value: object) -> Self:
        """The message, or that of a chat completion: a dict, or an object of OpenAI's client.

        Of a content in parts, the texts are taken. Raises TypeError for any other object.
        """
        if isinstance(value, cls):
            return value
        content = field(value, "content")
        role = _ROLES.get(str(field(value, "role")))
        parts = content if isinstance(content, list) else [content or ""]
        texts = [part if isinstance(part, str) else field(part, "text") for part in parts]
        calls = field(value, "tool_calls") or ()
        if role is None or not all(isinstance(text, str) for text in texts):
            raise TypeError(
                f"This is not a message of a chat completion: {value!r:.120}. Pass kefu.context"
                '.Message("user", "text") or {"role": "user", "content": "text"};'
                " kefu.context.trim_messages takes the messages of other APIs, images and files."
            )
        return cls(
            role,
            "".join(texts),
            tuple(_call_of(call) for call in calls),
            field(value, "tool_call_id"),
            reasoning=reasoning_of({name: field(value, name) for name in REASONING_FIELDS}),
        )


REASONING_FIELDS = ("reasoning_content", "reasoning")
"""The fields with the reasoning in a chat completion: DeepSeek's, and that of Ollama, OpenRouter
and vLLM.
"""


def reasoning_of(fields: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """`Message.reasoning` of the fields of a chat completion's message."""
    found = ((name, fields.get(name)) for name in REASONING_FIELDS)
    return tuple((name, text) for name, text in found if text and isinstance(text, str))


_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


def _call_of(call: Any) -> ToolCall:
    made = field(call, "function")
    name, arguments = field(made, "name"), field(made, "arguments")
    if not isinstance(arguments, str):
        import json  # imported here because it slows the import of the library

        arguments = json.dumps(arguments, ensure_ascii=False, default=str)
    return ToolCall(field(call, "id") or "", name or "", arguments)


def field(value: Any, name: str) -> Any:
    """A field of a dict or an attribute of an object; None if there is none."""
    if type(value) is dict:  # as most are; `isinstance` with an abstract class is slow
        return value.get(name)
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
