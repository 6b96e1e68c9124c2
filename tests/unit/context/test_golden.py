"""X14: the test vectors that the Python and the TypeScript implementation share."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kefu.context import (
    Budget,
    Message,
    MessageContextManager,
    MessageCounter,
    ToolCall,
    Window,
    build_llm_messages,
    truncate_v1,
    window_for,
)
from tests.golden.generate import COUNTERS, FILE, vectors

GOLDEN: dict[str, list[dict[str, Any]]] = json.loads(FILE.read_text(encoding="utf-8"))


def message(fields: dict[str, Any]) -> Message:
    calls = tuple(ToolCall(**call) for call in fields.get("tool_calls", ()))
    return Message(**{**fields, "tool_calls": calls})


def messages(items: list[dict[str, Any]]) -> list[Message]:
    return [message(fields) for fields in items]


HISTORIES = {row["name"]: messages(row["messages"]) for row in GOLDEN["histories"]}


def agrees(window: Window, whole: list[Message], row: dict[str, Any]) -> bool:
    kept = [whole[at] for at in row["kept"]]
    facts = (window.tokens, window.over_budget, window.reasons)
    return window.messages == kept and facts == (row["tokens"], row["over_budget"], row["reasons"])


def test_the_vectors_are_those_that_the_script_writes() -> None:
    """After an intended change run `python -m tests.golden.generate`, and check the difference."""
    assert FILE.read_text(encoding="utf-8") == vectors()


@pytest.mark.parametrize(
    ("text", "bytes4"),
    [("介绍林默", 3), ("他的性格？", 4), ("林默是28岁侦探", 5), ("<identity>AI</identity>", 6)],
)
def test_the_vectors_have_the_specifications_byte_counts(text: str, bytes4: int) -> None:
    """Requirement X3."""
    assert [row["bytes4"] for row in GOLDEN["tokens"] if row["text"] == text] == [bytes4]


@pytest.mark.parametrize(
    ("text", "cjk_v1"), [("hello", 2), ("你好", 4), ("你好，我想咨询签证", 17)]
)
def test_the_vectors_have_the_specifications_v1_counts(text: str, cjk_v1: int) -> None:
    """Requirement X4."""
    assert [row["cjk_v1"] for row in GOLDEN["tokens"] if row["text"] == text] == [cjk_v1]


@pytest.mark.parametrize(
    ("name", "kept", "chars"),
    [
        ("exactly 6000", 6, 6000),
        ("one more", 4, 4001),
        ("8600", 6, 4600),
        ("lands on 6000", 4, 4000),
        ("greeting", 4, 3000),
    ],
)
def test_the_vectors_have_the_specifications_cuts(name: str, kept: int, chars: int) -> None:
    """Requirement X5."""
    (row,) = (row for row in GOLDEN["v1"] if row["name"] == name)
    assert (len(row["kept"]), row["tokens"]) == (kept, chars)


@pytest.mark.parametrize("name", COUNTERS)
def test_texts_count_as_in_the_vectors(name: str) -> None:
    """Token 计数一致性, X2, X4."""
    for row in GOLDEN["tokens"]:
        assert COUNTERS[name](row["text"]) == row[name], row["text"]


def test_prompts_are_assembled_as_in_the_vectors() -> None:
    """Requirements X1 and X3."""
    for row in GOLDEN["assembly"]:
        history = messages(row["history"])
        built = build_llm_messages(row["system"], history, row["current"], row["budget"])
        assert built == messages(row["messages"])


def test_v1_cuts_as_in_the_vectors() -> None:
    """Requirement X5."""
    for row in GOLDEN["v1"]:
        whole = messages(row["messages"])
        assert agrees(truncate_v1(whole, row["max_chars"]), whole, row), row["name"]


@pytest.mark.parametrize("history", HISTORIES)
def test_windows_are_those_of_the_vectors(history: str) -> None:
    """相同的裁剪行为, X14: by the stateless function and by the manager."""
    whole = HISTORIES[history]
    for row in GOLDEN["windows"]:
        if row["history"] == history:
            budget = Budget(row["room"], reserve=0, trim_step=row["trim_step"])
            counter = MessageCounter(COUNTERS[row["counter"]])
            assert agrees(window_for(whole, budget, row["strategy"], counter), whole, row)
            talk = MessageContextManager(budget, strategy=row["strategy"], counter=counter)
            for one in whole:
                talk.add(one)
            assert agrees(talk.window(), whole, row)
