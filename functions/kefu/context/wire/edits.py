"""Makes copies of messages with shorter tool results. The messages themselves are not changed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kefu.context.wire.parts import USERS_PARTS, Path, ResultText
from kefu.context.wire.shapes import shape_of
from kefu.messages import Message, field


def with_results(
    value: Any, results: Sequence[ResultText], text_of: Callable[[ResultText], str], *, whole: bool
) -> Any:
    """A copy with the texts that `text_of` gives to its `results`; the value itself if none is new.

    `whole`: images and files in these results are removed as well.
    """
    for result in results:
        if result.path and (text := text_of(result)) is not result.text:
            value = _replaced(value, result.path, text, whole)
    return value


def _replaced(value: Any, path: Path, text: str, whole: bool) -> Any:
    """A copy of the value with a new text at the end of the path."""
    if not path:
        return text if isinstance(value, str) else _content(value, text, whole)
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        parts = list(value)
        parts[step] = _replaced(parts[step], rest, text, whole)
        return parts
    inner = field(value, step)
    if step == "response" and not rest:  # Gemini's, an object with an output
        return _copy(value, step, {"output": text})
    return _copy(value, step, _replaced(inner, rest, text, whole))


def _content(old: Any, text: str, whole: bool) -> Any:
    """The new content of a result: the text, and the other parts of the old content."""
    if isinstance(old, Mapping) and "type" in old and "value" in old:  # the AI SDK's
        return {"type": "text", "value": text}
    if not isinstance(old, Sequence):
        return text
    kinds = [field(part, "type") for part in old]
    untyped = any(isinstance(part, Mapping) and "type" not in part for part in old)
    if untyped:  # Bedrock's parts have a name in place of a type
        rest = [] if whole else [part for part in old if not {"text", "json"} & {*part}]
        return [{"text": text}, *rest]
    is_text = [kind in ("text", "input_text", "output_text") for kind in kinds]
    if whole or not old:
        return text
    if not any(is_text):
        return old
    rest = [part for part, textual in zip(old, is_text, strict=True) if not textual]
    return [{"type": kinds[is_text.index(True)], "text": text}, *rest]


def _copy(value: Any, name: str, content: Any) -> Any:
    if isinstance(value, Message):
        return value._replace(content=content)
    if isinstance(value, dict | Mapping):  # a dict is told apart much faster
        return {**value, name: content}
    if hasattr(value, "model_copy"):
        return value.model_copy(update={name: content})
    changed = copy.copy(value)  # a dataclass, as pydantic-ai's
    setattr(changed, name, content)
    return changed


def alternating(values: Sequence[Any]) -> list[Any]:
    """The messages with user messages in a row joined into one copy.

    In Bedrock's format, any messages of one role are: tool results with a question, and two answers
    of which the question between them was dropped. In other formats, tool results stay apart.
    """
    joined: list[Any] = []
    for value in values:
        if joined and _can_be_joined(joined[-1], value):
            joined[-1] = _both(joined[-1], value)
        else:
            joined.append(value)
    return joined


def _can_be_joined(first: Any, second: Any) -> bool:
    role = field(first, "role")
    if role != field(second, "role"):
        return False
    if all(map(_is_bedrocks, (first, second))):
        return True
    return role == "user" and all(shape_of(m, "").role == "user" for m in (first, second))


def _is_bedrocks(value: Any) -> bool:
    content = field(value, "content")
    return isinstance(content, list) and bool(content) and _part_type(content) is None


def _both(first: Any, second: Any) -> Any:
    """A copy of the second message, with the content of both messages."""
    name = "content" if field(second, "content") is not None else "parts"
    contents = field(first, name), field(second, name)
    if all(isinstance(content, str) for content in contents):
        return _copy(second, name, "\n\n".join(contents))
    kinds = [_part_type(content) for content in contents if not isinstance(content, str)]
    parts: list[Any] = []
    for content in contents:
        parts += [text_part(content, kinds[0])] if isinstance(content, str) else content
    return _copy(second, name, parts)


def _part_type(parts: Sequence[Any]) -> str | None:
    """The type of a text beside these parts; None for Bedrock's and Gemini's, which have none."""
    kind = next((field(part, "type") for part in parts), "text")
    if kind is None:
        return None
    return "input_text" if str(kind).startswith("input_") else "text"


def text_part(text: str, kind: str | None) -> dict[str, str]:
    return {"text": text} if kind is None else {"type": kind, "text": text}


def question_like(value: Any, text: str) -> Any:
    """A message of the user with this text, in the format of `value`, another one."""
    parts = field(value, "parts")
    if field(value, "kind") == "request":  # pydantic-ai's
        if not isinstance(value, Mapping):
            prompt = next(part for part in parts if part.part_kind in USERS_PARTS)
            spoken = prompt.part_kind == "speech"
            said = {"speaker": "user", "transcript": text} if spoken else {"content": text}
            return type(value)(parts=[type(prompt)(**said)])
        return {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]}
    if parts:
        made = {"role": "user", "parts": [text_part(text, _part_type(parts))]}
        return made if isinstance(value, Mapping) else type(value)(**made)
    if field(value, "type") == "human" and not isinstance(value, Mapping):  # LangChain's
        return type(value)(content=text)
    if _is_bedrocks(value):
        return {"role": "user", "content": [{"text": text}]}
    return {"role": "user", "content": text}


def beginning_and_end(text: str, allowance: int, count: Callable[[str], int]) -> str:
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
