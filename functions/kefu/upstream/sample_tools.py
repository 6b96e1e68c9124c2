"""Sample mode with tools: looks an order up, and asks to cancel it.

The tools are chosen by the words of the visitor's message, and the answers are made of their
results. They are those of `make run`, and of a site whose tools have the same names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kefu.knowledge.sources import QUESTION_HEAD
from kefu.tools.use import fields_in

LOOK_UP, CANCEL = "order_status", "cancel_order"

CHINESE = re.compile(r"(?s)(?!.*[\u3040-\u30ff\uac00-\ud7af]).*[\u3400-\u9fff]")
"""Matches texts in Chinese: with its characters, and without Japanese or Korean ones."""

_CANCEL = re.compile(r"\bcancel\b|取消", re.IGNORECASE)
_ORDER = re.compile(r"\border\b|订单", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\d.,])\d{3,12}(?![\d.,]\d|\d)")
_ONLY_NUMBER = re.compile(r"\W*\d{3,12}\W*")

_NOTE = (
    "*Sample mode: the tool was chosen by the words of the message. Set `KEFU_API_KEYS` and a "
    "model chooses.*"
)
_NOTE_ZH = "*示例模式：按消息中的字词选择工具。设置 `KEFU_API_KEYS` 后由模型选择。*"
_WHICH = "Which order? Please write its number."
_WHICH_ZH = "哪个订单？请写订单号。"
_TOO_LATE = "A cancellation is not possible any more."
_TOO_LATE_ZH = "已无法再取消。"
_FIELDS_ZH = {"items": "件数", "total": "总额", "delivery": "送达"}

Json = Mapping[str, Any]


class ChosenCall(NamedTuple):
    """A call of a tool, in place of an answer."""

    tool: str
    arguments: str
    """JSON."""


def tool_reply(asked: Json) -> ChosenCall | str | None:
    """The call, or the answer, for a request to the model; None if it is not about an order."""
    messages: Sequence[Json] = asked["messages"]
    last = max(at for at, one in enumerate(messages) if one["role"] == "user")
    said = [_said(one) for one in messages[: last + 1] if one["role"] == "user"]
    question = " ".join(said[-2:]) if _ONLY_NUMBER.fullmatch(said[-1]) else said[-1]
    offered = [] if asked.get("tool_choice") == "none" else _offered(asked)
    calls = [call["function"] for one in messages[last:] for call in one.get("tool_calls") or ()]
    if calls:
        return _with_result(calls[-1], messages[-1]["content"], question, offered)
    return _first(question, said, offered)


def _first(question: str, said: Sequence[str], offered: Sequence[str]) -> ChosenCall | str | None:
    """The look-up, also before a cancellation. `said`: all that the visitor has written."""
    wants_cancel = bool(_CANCEL.search(question))
    tool = CANCEL if wants_cancel and LOOK_UP not in offered else LOOK_UP
    known = _NUMBER.findall(" ".join(said) if wants_cancel else question)
    if tool not in offered or not (wants_cancel or (known and _ORDER.search(question))):
        return None
    if not known:
        return _WHICH_ZH if CHINESE.match(question) else _WHICH
    return ChosenCall(tool, json.dumps({"order_id": known[-1]}))


def _with_result(
    call: Json, result: str, question: str, offered: Sequence[str]
) -> ChosenCall | str:
    """The cancellation after its look-up, or an answer from the result."""
    wants_cancel, is_chinese = bool(_CANCEL.search(question)), bool(CHINESE.match(question))
    found = fields_in(result)
    is_too_late = wants_cancel and found.get("can_be_cancelled") is False
    is_looked_up = wants_cancel and call["name"] == LOOK_UP and bool(found)
    if is_looked_up and not is_too_late and CANCEL in offered:
        return ChosenCall(CANCEL, call["arguments"])
    order = {**fields_in(call["arguments"]), **found}
    text = _sentence(order, is_chinese=is_chinese) or result
    if is_too_late:
        text += _TOO_LATE_ZH if is_chinese else f" {_TOO_LATE}"
    return f"{text}\n\n{_NOTE_ZH if is_chinese else _NOTE}"


def _said(message: Json) -> str:
    """The visitor's own words, without the passages in front of them."""
    content = message["content"]
    return content.rpartition(f"{QUESTION_HEAD}\n")[2] if isinstance(content, str) else ""


def _offered(asked: Json) -> list[str]:
    return [one["function"]["name"] for one in asked.get("tools") or ()]


def _sentence(order: Json, *, is_chinese: bool) -> str:
    if not (state := order.get("state")):
        return ""
    rest = [
        (name, value)
        for name, value in order.items()
        if name not in ("state", "order_id", "can_be_cancelled")
    ]
    number = order.get("order_id", "")
    if is_chinese:
        facts = "，".join(f"{_FIELDS_ZH.get(name, name)}：{value}" for name, value in rest)
        return f"订单 {number} {state}{f'（{facts}）' if facts else ''}。"
    facts = ", ".join(f"{name}: {value}" for name, value in rest)
    return f"Order {number} is {state}{f' ({facts})' if facts else ''}."
