"""Writes the text of the card that asks a visitor to approve a call.

The text is the owner's template. Its values are the checked arguments, and fields of the result of
a read tool; never words of the model. Arguments without a place in it follow in brackets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from kefu.tools.pattern import simple_pattern
from kefu.tools.tool import Arguments, Tool, in_language
from kefu.tools.use import fields_in

MAX_VALUE = 100
"""Characters of a value in the text."""

PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.]*)\}")
_FIRST_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"
_MARKDOWN = re.compile(r"[\\`*_\]<>|~]|^[-+#]", re.MULTILINE)
_IDENTIFIER = re.compile("[A-Za-z0-9_-]{1,64}")
_CHINESE = re.compile("[^\u3040-\u30ff]*[\u4e00-\u9fff][^\u3040-\u30ff]*")
"""A text with Chinese characters, and none of the others of Japanese."""

YES, NO = "✓ ", "✗ "
"""The starts of the visitor's message that a click on the card makes."""


def card_text(tool: Tool, arguments: Arguments, preview: str, language: str) -> str:
    """The question to the visitor. `preview`: the result of `tool.preview`; "" without one.

    Raises KeyError with the name of a placeholder that has no value.
    """
    template = in_language(tool.approve, language)
    named = {path.partition(".")[0] for path in PLACEHOLDER.findall(template)}
    others = [
        f"{_name(name)}: {_shown(value)}"
        for name, value in arguments.items()
        if name not in named and name not in tool.bind
    ]
    if not template:
        title = in_language(tool.title, language) or tool.name
        return f"{title}: {', '.join(others)}?" if others else f"{title}?"
    known = {**fields_in(preview), **arguments}
    text = PLACEHOLDER.sub(lambda found: _shown(_value(known, found[1])), template)
    # A visitor approves all that is sent, also where the owner's words have no place for it.
    return f"{text} ({', '.join(others)})" if others else text


def _name(name: str) -> str:
    """A parameter's name. Some schemas leave names to the model, too."""
    return name if _IDENTIFIER.fullmatch(name) else _shown(name)


def _value(known: Mapping[str, object], path: str) -> object:
    """The value at a path such as `order.total`. Raises KeyError."""
    value: object = known
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            raise KeyError(path)
        value = value[name]
    return value


def _shown(value: object) -> str:
    """The value on one line, without marks of text direction, and in an isolate of its own."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = "".join(one if one.isprintable() else " " for one in text)
    text = " ".join(text.split())
    if len(text) > MAX_VALUE:
        text = f"{text[: MAX_VALUE - 1]}…"
    return f"{_FIRST_ISOLATE}{text}{_END_ISOLATE}"


def as_answer(card: str) -> str:
    """The card's text as Markdown that shows it unchanged, for clients that know no cards.

    No `(` or `[` gets a backslash, which would make it the start of a formula.
    """
    return _MARKDOWN.sub(r"\\\g<0>", card)


def declined(card: str) -> str:
    """The answer to a visitor who clicked No."""
    return "好的，没有执行。" if _CHINESE.fullmatch(card) else "All right, nothing was changed."


def outcome_sentence(card: str, state: str) -> str:
    """The answer after a write about which the model has said nothing."""
    task, is_chinese = as_answer(card.rstrip(" ?？")), bool(_CHINESE.fullmatch(card))
    if state == "done":
        return f"已完成：{task}" if is_chinese else f"Done: {task}"
    if is_chinese:
        return f"不确定是否已完成：{task}。请先核对，再重试。"
    return f"It is not certain whether this was done: {task}. Please check before you try again."


def is_free_text(schema: Mapping[str, object]) -> bool:
    """Whether a value may be any text, so that a card cannot show what it stands for."""
    if "enum" in schema or "const" in schema:
        return False
    pattern, items = schema.get("pattern"), schema.get("items")
    match schema.get("type"):
        case "integer" | "number" | "boolean" | "null":
            return False
        case "string" if isinstance(pattern, str):
            return not _is_limit(pattern)
        case "array" if isinstance(items, dict):
            return is_free_text(items)
    return True


def _is_limit(pattern: str) -> bool:
    """Whether a pattern is for the whole text, and refuses a sentence."""
    found = simple_pattern(pattern)
    return bool(found and found.from_start and found.to_end and not found.is_in(_SENTENCE))


_SENTENCE = "Send it to 12 Main Street, and pay 100 to Mr Smith."
