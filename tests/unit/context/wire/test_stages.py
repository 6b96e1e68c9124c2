"""The stages that shorten tool results: clear the old ones, cap the long ones."""

from __future__ import annotations

from typing import Any

import pytest

from kefu.context import (
    BYTES4,
    CapToolResults,
    ClearToolResults,
    DropTurns,
    Message,
    ToolCall,
    Trimmed,
    trim_messages,
)
from tests.unit.context.wire.formats import FORMATS

CLEARED = ClearToolResults().placeholder


def chat(at: int, text: str, tool: str) -> list[Any]:
    call = {"id": f"c{at}", "type": "function", "function": {"name": tool, "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{at}", "content": text, "x_unknown": 1},
    ]


def anthropic(at: int, text: str, tool: str) -> list[Any]:
    use = {"type": "tool_use", "id": f"c{at}", "name": tool, "input": {}}
    result = {"type": "tool_result", "tool_use_id": f"c{at}", "content": text, "is_error": False}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


def responses(at: int, text: str, tool: str) -> list[Any]:
    return [
        {"type": "function_call", "call_id": f"c{at}", "name": tool, "arguments": "{}"},
        {"type": "function_call_output", "call_id": f"c{at}", "output": text},
    ]


def own(at: int, text: str, tool: str) -> list[Any]:
    return [
        Message("assistant", "", (ToolCall(f"c{at}", tool, "{}"),)),
        Message("tool", text, tool_call_id=f"c{at}"),
    ]


MAKERS = {"chat completions": chat, "anthropic": anthropic, "responses": responses, "own": own}


def question(name: str) -> Any:
    return Message("user", "go") if name == "own" else {"role": "user", "content": "go"}


def text_of_result(message: Any) -> str | None:
    if isinstance(message, Message):
        return message.content if message.role == "tool" else None
    if message.get("type") == "function_call_output":
        return str(message["output"])
    if message.get("role") == "tool":
        return str(message["content"])
    content = message.get("content")
    if isinstance(content, list) and content[0]["type"] == "tool_result":
        return str(content[0]["content"])
    return None


def texts(sent: list[Any]) -> list[str]:
    return [text for message in sent if (text := text_of_result(message)) is not None]


def agent(name: str, steps: int, length: int, tool: str = "look", **options: Any) -> Trimmed[Any]:
    whole = [question(name)]
    for at in range(steps):
        whole += MAKERS[name](at, f"{at:03}" + "x" * length, tool)
    return trim_messages(whole, counter=BYTES4, **options)


@pytest.mark.parametrize("name", MAKERS)
def test_old_results_are_cleared_and_the_newest_stay_whole(name: str) -> None:
    """工具结果优先: the calls are kept, so the model still knows what it has done."""
    sent = agent(name, 20, 100, max_tokens=400, reserve=0, strategy="agent")
    found = texts(list(sent))
    whole = [text for text in found if text != CLEARED]
    assert CLEARED in found
    assert 3 <= len(whole) <= 6
    assert found[-len(whole) :] == whole
    assert whole[-1].startswith("019")
    assert sent.tokens <= 400
    assert not FORMATS[name].refused(sent, list(sent))


@pytest.mark.parametrize("name", MAKERS)
def test_nothing_is_shortened_while_everything_fits(name: str) -> None:
    sent = agent(name, 5, 100, max_tokens=4000, reserve=0, strategy="agent")
    assert [text[:3] for text in texts(list(sent))] == ["000", "001", "002", "003", "004"]
    assert len(sent) == 11


@pytest.mark.parametrize("name", MAKERS)
def test_an_exempt_tool_keeps_its_results(name: str) -> None:
    stages = (ClearToolResults(exempt=("look",)), DropTurns())
    sent = agent(name, 20, 100, max_tokens=400, reserve=0, strategy=stages)
    assert CLEARED not in texts(list(sent))
    other = agent(name, 20, 100, "find", max_tokens=400, reserve=0, strategy=stages)
    assert CLEARED in texts(list(other))


@pytest.mark.parametrize("name", MAKERS)
def test_a_huge_result_keeps_its_beginning_and_its_end(name: str) -> None:
    huge = "BEGIN" + "x" * 400_000 + "END"
    whole = [question(name), *MAKERS[name](0, huge, "look")]
    sent = trim_messages(whole, max_tokens=8000, counter=BYTES4, strategy="agent")
    (text,) = texts(list(sent))
    assert (text[:5], text[-3:]) == ("BEGIN", "END")
    assert "characters left out" in text
    assert 1500 < sent.tokens <= 1700  # a quarter of 6,400
    assert texts(whole) == [huge]


@pytest.mark.parametrize("name", MAKERS)
def test_results_at_the_end_share_the_room(name: str) -> None:
    whole = [question(name)]
    calls: list[Any] = []
    results: list[Any] = []
    for at in range(12):
        call, result = MAKERS[name](at, "y" * 40_000, "look")
        calls.append(call)
        results.append(result)
    if name == "chat completions":
        calls = [{**calls[0], "tool_calls": [c["tool_calls"][0] for c in calls]}]
    elif name == "anthropic":
        calls = [{**calls[0], "content": [c["content"][0] for c in calls]}]
        results = [{**results[0], "content": [r["content"][0] for r in results]}]
    elif name == "own":
        calls = [calls[0]._replace(tool_calls=tuple(c.tool_calls[0] for c in calls))]
    whole += [*calls, *results]
    sent = trim_messages(whole, max_tokens=2000, reserve=0, counter=BYTES4, strategy="agent")
    assert 1000 < sent.tokens <= 2000
    assert not sent.over_budget
    assert len(sent) == len(whole)


@pytest.mark.parametrize("name", MAKERS)
def test_an_agent_with_one_huge_result_never_exceeds_its_budget(name: str) -> None:
    """200 tool calls, and one result of 400,000 characters: the prompt fits after each step."""
    whole = [question(name)]
    for at in range(200):
        whole += MAKERS[name](at, "z" * (400_000 if at == 120 else 300), "look")
        if at % 10 == 0 or 118 <= at <= 130:
            sent = trim_messages(whole, max_tokens=8000, counter=BYTES4, strategy="agent")
            assert sent.tokens <= 6400
            assert not sent.over_budget
            assert not FORMATS[name].refused(sent, list(sent))


def test_a_cap_leaves_the_image_of_a_result() -> None:
    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    block = {
        "type": "tool_result",
        "tool_use_id": "c0",
        "content": [{"type": "text", "text": "x" * 40_000}, image],
    }
    whole = [question(""), anthropic(0, "", "look")[0], {"role": "user", "content": [block]}]
    stages = (CapToolResults(0.5), DropTurns())
    sent = trim_messages(whole, max_tokens=4000, reserve=0, counter=BYTES4, strategy=stages)
    capped = sent[2]["content"][0]["content"]
    assert capped[1] is image
    assert "characters left out" in capped[0]["text"]


@pytest.mark.parametrize("room", [150, 200, 250, 300, 400])
@pytest.mark.parametrize("name", MAKERS)
def test_the_newest_result_gets_the_room_that_its_question_leaves(name: str, room: int) -> None:
    asked = question(name)
    text = "q" * 400
    asked = asked._replace(content=text) if name == "own" else {**asked, "content": text}
    make = MAKERS[name]
    whole = [asked, *make(1, "s" * 300, "look"), *make(2, "r" * 4000, "look")]
    stages = (CapToolResults(1.0), DropTurns())
    sent = trim_messages(whole, max_tokens=room, reserve=0, counter=BYTES4, strategy=stages)
    assert sent[0] == asked
    assert "characters left out" in (text_of_result(sent[-1]) or "")
    assert 0.98 * room <= sent.tokens <= room


def test_a_pinned_result_is_neither_cleared_nor_capped() -> None:
    whole: list[Any] = [question("")]
    for at in range(20):
        whole += chat(at, f"{at:03}" + "x" * 100, "look")
    sent = trim_messages(
        whole,
        max_tokens=600,
        reserve=0,
        counter=BYTES4,
        strategy="agent",
        keep=lambda m: m.get("content", "") and m["content"].startswith("010"),
    )
    assert any(m is whole[22] for m in sent)
