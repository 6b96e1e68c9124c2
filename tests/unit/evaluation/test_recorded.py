"""A17: the requests of a stored chat, and what stays of them with another system prompt."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kefu.chat import steps
from kefu.evaluation.recorded import changed, has_same_calls, of_chat
from kefu.knowledge import sources

CALLED = {"function": {"name": "cancel_order", "arguments": '{"order_id":"5"}'}}


@pytest.mark.parametrize("rules", [steps.RULES, sources.RULES, sources.RULES_WITH_TOOLS])
def test_another_system_prompt_keeps_the_rules_of_the_service(rules: str) -> None:
    messages = [{"role": "system", "content": f"Old.\n\n{rules}\n\nAbout the page."}]
    body = json.dumps({"messages": messages}).encode()
    new = json.loads(changed(body, None, "New."))["messages"]
    assert new == [{"role": "system", "content": f"New.\n\n{rules}\n\nAbout the page."}]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ([("a", '{"x":1,"y":2}'), ("b", "")], [("b", "{}"), ("a", '{"y": 2, "x": 1}')], True),
        ([("a", "{}")], [("a", "{}"), ("a", "{}")], False),
        ([("a", "{}")], [("b", "{}")], False),
        ([("a", '{"x":1}')], [("a", '{"x":"1"}')], False),
        ([("a", "no JSON")], [("a", "no JSON")], True),
        ([], [], True),
    ],
)
def test_calls_are_the_same_by_name_and_arguments(one: Any, other: Any, same: bool) -> None:
    assert has_same_calls(one, other) is same


def test_an_answer_with_a_card_is_what_the_model_wrote() -> None:
    """And not the text of the card, which is stored as the answer."""
    call = {
        "message_id": 1,
        "request": "{}",
        "meta": {},
        "error": None,
        "prompt_tokens": None,
        "completion_tokens": None,
    }
    made = {"response": {"choices": [{"message": {"content": "", "tool_calls": [CALLED]}}]}}
    chat = {
        "session": {"id": "s"},
        "messages": [
            {"id": 1, "role": "user", "content": "Cancel it", "reply_to": None},
            {"id": 2, "role": "assistant", "content": "Cancel order 5?", "reply_to": 1},
        ],
        "calls": [{**call, **made}],
    }
    [one] = of_chat(chat)
    assert (one.place, one.answer) == ("s:1", "")
    assert one.calls == [("cancel_order", '{"order_id":"5"}')]
    [plain] = of_chat({**chat, "calls": [{**call, "response": None}]})
    assert (plain.answer, plain.calls) == ("Cancel order 5?", [])
