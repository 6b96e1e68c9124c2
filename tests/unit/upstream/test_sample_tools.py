"""Sample mode calls tools for orders by the words of a message, and answers from their results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kefu.knowledge.finding import PassageHit
from kefu.knowledge.sources import block
from kefu.upstream.sample import SampleUpstream
from kefu.upstream.sample_tools import ChosenCall, tool_reply

PASSAGE = PassageHit(
    page="/d",
    url="/d",
    title="Order 5555",
    headings=["Cancel order 5555"],
    score=1.0,
    text="An example: cancel order 5555.",
)
PACKED = '{"order_id":"1001","state":"packed","items":2,"can_be_cancelled":true}'
SENT = '{"order_id":"1001","state":"on its way","items":2,"can_be_cancelled":false}'


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": block([PASSAGE], text)}


def used(tool: str, result: str, number: str = "1001") -> list[dict[str, Any]]:
    function = {"name": tool, "arguments": json.dumps({"order_id": number})}
    return [
        {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "function": function}]},
        {"role": "tool", "tool_call_id": "a", "content": result},
    ]


def asked(*messages: dict[str, Any], **more: object) -> dict[str, Any]:
    tools = [{"function": {"name": name}} for name in ("order_status", "cancel_order")]
    return {"messages": [{"role": "system", "content": ""}, *messages], "tools": tools, **more}


def look_up(number: str) -> ChosenCall:
    return ChosenCall("order_status", json.dumps({"order_id": number}))


@pytest.mark.parametrize(
    "text",
    ["Where is my order 1001?", "order #1001", "我的订单 1001 在哪里？", "Cancel order 1001."],
)
def test_an_order_with_a_number_is_looked_up(text: str) -> None:
    """The numbers in passages are not the visitor's."""
    assert tool_reply(asked(user(text))) == look_up("1001")


@pytest.mark.parametrize(
    "text",
    [
        "How long does delivery take?",
        "How do I order?",
        "What is your cancellation policy?",
        "I paid 1001 EUR",
    ],
)
def test_other_messages_are_left_to_the_pages(text: str) -> None:
    assert tool_reply(asked(user(text))) is None


def test_cancel_it_means_the_order_of_the_conversation() -> None:
    """A10: the order is looked up anew, then the call that needs a click follows."""
    before = [user("Where is my order 1001?"), *used("order_status", PACKED)]
    now = [*before, {"role": "assistant", "content": "It is packed."}, user("Cancel it")]
    assert tool_reply(asked(*now)) == look_up("1001")
    then = tool_reply(asked(*now, *used("order_status", PACKED)))
    assert then == ChosenCall("cancel_order", '{"order_id": "1001"}')


def test_without_a_number_it_asks_for_one_and_remembers_the_wish() -> None:
    assert tool_reply(asked(user("Cancel it"))) == "Which order? Please write its number."
    assert tool_reply(asked(user("取消订单"))) == "哪个订单？请写订单号。"
    then = [user("Cancel it"), {"role": "assistant", "content": "Which order?"}, user("1001")]
    assert tool_reply(asked(*then)) == look_up("1001")
    called = tool_reply(asked(*then, *used("order_status", PACKED)))
    assert isinstance(called, ChosenCall)
    assert called.tool == "cancel_order"


def test_answers_say_what_the_result_says_and_no_more() -> None:
    question = user("Where is order 1001?")
    told = tool_reply(asked(question, *used("order_status", PACKED)))
    assert isinstance(told, str)
    assert told.startswith("Order 1001 is packed (items: 2).\n\n*Sample mode")
    told = tool_reply(asked(question, *used("order_status", '{"state":"sent"}')))
    assert isinstance(told, str)
    assert told.startswith("Order 1001 is sent.")
    for result in ("There is no such order.", "The service answered HTTP 500 (…).", "[1, 2]"):
        told = tool_reply(asked(question, *used("order_status", result)))
        assert isinstance(told, str)
        assert told.startswith(f"{result}\n\n*Sample mode")


def test_what_cannot_be_cancelled_is_not_tried() -> None:
    question = user("Cancel order 1001")
    told = tool_reply(asked(question, *used("order_status", SENT)))
    assert isinstance(told, str)
    assert "on its way" in told
    assert "A cancellation is not possible any more." in told
    told = tool_reply(asked(question, *used("order_status", "There is no such order.")))
    assert isinstance(told, str)
    assert told.startswith("There is no such order.")


def test_only_offered_tools_are_called() -> None:
    cancels = {"tools": [{"function": {"name": "cancel_order"}}]}
    assert tool_reply(asked(user("Where is my order 1001?"), **cancels)) is None
    called = tool_reply(asked(user("Cancel order 1001"), **cancels))
    assert called == ChosenCall("cancel_order", '{"order_id": "1001"}')
    assert tool_reply(asked(user("Where is my order 1001?"), tool_choice="none")) is None
    none = asked(user("Cancel order 1001"), *used("order_status", PACKED), tool_choice="none")
    assert isinstance(tool_reply(none), str)


async def test_a_call_is_streamed_as_models_stream_it() -> None:
    body = json.dumps(asked(user("Where is my order 1001?"))).encode()
    response = await SampleUpstream().send(body, "")
    events = list[bytes]()
    while event := await response.read(10):
        events.append(event)
    assert events[-1] == b"data: [DONE]\n\n"
    choices = [json.loads(one.removeprefix(b"data: "))["choices"][0] for one in events[:-1]]
    pieces = [one["delta"]["tool_calls"][0] for one in choices[:-1]]
    assert {piece["index"] for piece in pieces} == {0}
    assert pieces[0]["function"]["name"] == "order_status"
    arguments = "".join(piece["function"]["arguments"] for piece in pieces)
    assert json.loads(arguments) == {"order_id": "1001"}
    assert choices[-1] == {"index": 0, "delta": {}, "finish_reason": "tool_calls"}
