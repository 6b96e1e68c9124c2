"""Makes copies of messages with shorter tool results. The messages themselves are not changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kefu.context.wire.shapes import field
from kefu.messages import Message

_PLAIN_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})


def can_edit(value: Any) -> bool:
    """Whether the results in this message are texts that may be replaced."""
    kind = field(value, "type")
    if field(value, "role") is None:
        return kind in _PLAIN_OUTPUTS
    return True


def with_results(value: Any, texts: Mapping[int, str], *, whole: bool) -> Any:
    """A copy with new texts for some of its results, by their number in the message.

    `whole`: images and files in these results are removed as well.
    """
    if isinstance(value, Message):
        return value._replace(content=texts[0])
    if field(value, "role") is None:
        return _copy(value, "output", _content(field(value, "output"), texts[0], whole))
    content = field(value, "content")
    if field(value, "role") in ("tool", "function"):
        return _copy(value, "content", _content(content, texts[0], whole))
    blocks, number = [], 0
    for block in content:
        if field(block, "type") == "tool_result":
            if number in texts:
                old = field(block, "content")
                block = _copy(block, "content", _content(old, texts[number], whole))  # noqa: PLW2901
            number += 1
        blocks.append(block)
    return _copy(value, "content", blocks)


def _content(old: Any, text: str, whole: bool) -> Any:
    """The new content of a result: the text, and the other parts of the old content."""
    if whole or isinstance(old, str) or not isinstance(old, Sequence):
        return text
    is_text = [field(part, "type") in ("text", "input_text", "output_text") for part in old]
    if not any(is_text):
        return old
    rest = [part for part, textual in zip(old, is_text, strict=True) if not textual]
    first = next(part for part, textual in zip(old, is_text, strict=True) if textual)
    return [{"type": field(first, "type"), "text": text}, *rest]


def _copy(value: Any, name: str, content: Any) -> Any:
    if isinstance(value, Mapping):
        return {**value, name: content}
    return value.model_copy(update={name: content})


def alternating(values: Sequence[Any]) -> list[Any]:
    """The messages with user messages in a row joined into one copy; tool results stay apart."""
    joined: list[Any] = []
    for value in values:
        if joined and _is_plain_user(joined[-1]) and _is_plain_user(value):
            joined[-1] = _both(joined[-1], value)
        else:
            joined.append(value)
    return joined


def _is_plain_user(value: Any) -> bool:
    if field(value, "role") != "user":
        return False
    content = field(value, "content")
    if isinstance(content, str):
        return True
    return not any(field(part, "type") == "tool_result" for part in content)


def _both(first: Any, second: Any) -> Any:
    """A copy of the second message, with the content of both messages."""
    contents = field(first, "content"), field(second, "content")
    if isinstance(second, Message):
        return second._replace(content="\n\n".join(contents))
    if all(isinstance(content, str) for content in contents):
        return _copy(second, "content", "\n\n".join(contents))
    kind = "input_text" if _has_input_parts(contents) else "text"
    parts: list[Any] = []
    for content in contents:
        parts += [{"type": kind, "text": content}] if isinstance(content, str) else content
    return _copy(second, "content", parts)


def _has_input_parts(contents: Sequence[Any]) -> bool:
    """Whether the parts belong to OpenAI's Responses API."""
    return any(
        str(field(part, "type")).startswith("input_")
        for content in contents
        if not isinstance(content, str)
        for part in content
    )


def head_and_tail(text: str, allowance: int, count: Callable[[str], int]) -> str:
    """Shorten a text to its beginning and its end, with a note between them.

    The result has at most `allowance` tokens: only the note if nothing else fits, "" if the note
    does not fit either.
    """
    cost = count(text)
    if cost <= allowance:
        return text
    kept = len(text) * allowance // cost
    while True:
        note = f"\n[... {len(text) - kept} characters left out ...]\n"
        tail = kept // 3
        short = text[: kept - tail] + note + (text[-tail:] if tail else "")
        cost = count(short)
        if cost <= allowance:
            return short
        if not kept:
            return ""
        kept = min(kept - 1, kept * allowance // cost * 98 // 100)
