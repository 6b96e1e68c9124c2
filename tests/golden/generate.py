"""Writes the test vectors in context.json: `python -m tests.golden.generate`.

Messages are given by their positions. `tests/unit/context/test_golden.py` checks the vectors in
Python. `widget/tests/unit/parity.test.ts` checks those that the small TypeScript version supports.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from kefu.context import (
    STRATEGIES,
    Budget,
    Message,
    MessageCounter,
    ToolCall,
    Window,
    build_llm_messages,
    tokens,
    truncate_v1,
    window_for,
)

COUNTERS = {name: tokens.COUNTERS[name] for name in ("bytes4", "chars4", "cjk_v1")}
"""The counters of all implementations; `calibrated` changes when it is fitted again."""

FILE = Path(__file__).with_name("context.json")

TEXTS = [
    "",
    "a",
    "hello",
    "Hello, world! 1234567890",
    "介绍林默",
    "他的性格？",
    "林默是28岁侦探",
    "<identity>AI</identity>",
    "你好",
    "你好，我想咨询签证",
    "かな カナ 한글 ㄅㄆ",
    "\u3400\u4dbf\u4dc0\u4e00\u9fff\uf900\ufaff",
    "\U00020000\U0002ebe0\U0003134a",
    "😀 and 👨‍👩‍👧",
    "naïve café – “quoted”",
    "\ud83d",
    "x\ude00\ud83dy",
    "\t\n  ",
]


def user(text: str, *, pinned: bool = False) -> Message:
    return Message("user", text, pinned=pinned)


def assistant(text: str, *calls: str) -> Message:
    return Message("assistant", text, tuple(ToolCall(c, "look_up", f'{{"n": {c}}}') for c in calls))


def result(of: str, text: str) -> Message:
    return Message("tool", text, tool_call_id=of)


SYSTEM = Message("system", "You answer for a shop. 简短回答。")
HISTORIES: dict[str, list[Message]] = {
    "plain": [
        SYSTEM,
        *(user("What does shipping cost?"), assistant("It is free above 50 euros.")),
        *(user("退货怎么办理？"), assistant("请在三十天内联系客服，我们会寄出退货标签。")),
        *(user("And abroad?"), assistant("12 euros within Europe 😀")),
        user("Thanks. 那么关税呢？"),
    ],
    "greeting": [
        SYSTEM,
        *(assistant("Hello! How may I help?"), user("Hi"), assistant("Hi."), user("?")),
    ],
    "parallel tool calls": [
        SYSTEM,
        *(user("Compare 1 and 2."), assistant("", "1", "2")),
        *(result("2", "red"), result("1", "blue")),
        *(assistant("1 is blue, 2 is red."), user("And 3?"), assistant("Let me see.", "3")),
        *(result("3", "green, and sold out"), assistant("Green."), user("Buy it.")),
    ],
    "working on tool calls": [
        SYSTEM,
        *(user("First?"), assistant("Yes."), user("Then do all.")),
        *(assistant("", "1"), result("1", "done " * 9), assistant("", "2"), result("2", "done")),
        *(assistant("", "3", "4"), result("4", "half of it")),
    ],
    "broken tool calls": [
        SYSTEM,
        *(result("0", "whose?"), user("One?"), assistant("", "1", "2"), result("1", "only one")),
        *(user("Two?"), assistant("", "3"), result("3", "three"), result("3", "again")),
        *(assistant("Well."), user("Three?")),
    ],
    "pinned": [
        SYSTEM,
        *(user("My order is 4711.", pinned=True), assistant("Noted.")),
        *(user("And I am in 上海.", pinned=True), assistant("好的。")),
        *(Message("system", "The shop closes at six."), user("Is it open?"), assistant("Yes.")),
        user("When does it close?"),
    ],
    "a summary": [
        SYSTEM,
        Message("user", "<conversation_summary>\nA bike.\n</conversation_summary>", summary=True),
        *(user("In red?"), assistant("Yes."), user("How much?")),
    ],
    "nobody asked": [assistant("Hello."), assistant("Anyone there?")],
    "empty": [],
}  # fmt: skip

LETTERS = [user("AAAA"), assistant("BBBB"), user("CCCC"), assistant("DDDD")]


def ten_of(tokens: int) -> list[Message]:
    texts = [str(n).ljust(4 * tokens) for n in range(10)]
    return [user(text) if n % 2 == 0 else assistant(text) for n, text in enumerate(texts)]


def assemblies() -> list[dict[str, object]]:
    """X1: the scenarios S1 to S4, and budgets near their limits."""
    s1 = [user("介绍林默"), assistant("林默是28岁侦探")]
    asked = [
        ("<identity>AI</identity>", s1, "他的性格？", 10000),
        ("system text", [], "你好", 10000),
    ]
    asked += [("S", LETTERS, "E", budget) for budget in range(-1, 8)]
    asked += [("s" * 400, ten_of(k), "c" * 200, 160) for k in (1, 3, 5, 10, 11)]
    asked += [("s" * 400, ten_of(k), "c" * 200, 149) for k in (1, 11)]
    return [
        {
            "system": system,
            "history": [as_json(m) for m in history],
            "current": current,
            "budget": budget,
            "messages": [as_json(m) for m in build_llm_messages(system, history, current, budget)],
        }
        for system, history, current, budget in asked
    ]


def pair(size: int) -> list[Message]:
    return [user("u" * (size // 2)), assistant("a" * (size - size // 2))]


def v1_cases() -> list[dict[str, object]]:
    """X5: the cuts of the strategy `v1`."""
    system = Message("system", "s" * 100)
    conversations = {
        "exactly 6000": [system, *pair(2000), *pair(2000), user("u" * 1900)],
        "one more": [system, *pair(2000), *pair(2000), user("u" * 1901)],
        "8600": [system, *(m for _ in range(4) for m in pair(2000)), user("u" * 500)],
        "lands on 6000": [system, *pair(1000), *pair(2000), *pair(3000), user("u" * 900)],
        "greeting": [system, assistant("g" * 50), *pair(3000), *pair(2500), user("u" * 400)],
        "greeting alone": [system, assistant("g" * 3000), user("u" * 3000)],
        "too long": [Message("system", "s" * 7000), *pair(10), user("u" * 8000)],
        "emoji": [user("u"), assistant("aa"), user("😀" * 2999)],
    }
    return [
        {"name": name, "max_chars": 6000, "messages": [as_json(m) for m in messages]}
        | outcome(messages, truncate_v1(messages))
        for name, messages in conversations.items()
    ]


def windows() -> list[dict[str, object]]:
    """Every history, strategy and counter with budgets from 0 to more than the total."""
    rows: list[dict[str, object]] = []
    for history, messages in HISTORIES.items():
        for counter, count_text in COUNTERS.items():
            count = MessageCounter(count_text)
            total = sum(map(count, messages))
            for strategy in STRATEGIES:
                for room in sorted({total * n // 8 for n in range(10)}):
                    for trim_step in (0.0, 0.3) if counter == "bytes4" else (0.0,):
                        budget = Budget(room, reserve=0, trim_step=trim_step)
                        window = window_for(messages, budget, strategy, count)
                        asked = {"history": history, "counter": counter, "strategy": strategy}
                        asked |= {"room": room, "trim_step": trim_step}  # type: ignore[dict-item]
                        rows.append(asked | outcome(messages, window))
    return rows


def outcome(messages: Sequence[Message], window: Window) -> dict[str, object]:
    out = {at for run in window.left_out for at in range(run.start, run.stop)}
    return {
        "kept": [at for at in range(len(messages)) if at not in out],
        "tokens": window.tokens,
        "over_budget": window.over_budget,
        "reasons": window.reasons,
    }


def as_json(message: Message) -> dict[str, object]:
    """A message as JSON. Fields with default values are left out."""
    fields: dict[str, object] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        calls = ({"id": c.id, "name": c.name, "arguments": c.arguments} for c in message.tool_calls)
        fields["tool_calls"] = list(calls)
    if message.tool_call_id is not None:
        fields["tool_call_id"] = message.tool_call_id
    for mark in ("pinned", "summary"):
        if getattr(message, mark):
            fields[mark] = True
    return fields


def vectors() -> str:
    """JSON with one case per line, so that a diff shows the changed cases."""
    parts: dict[str, list[dict[str, object]]] = {
        "tokens": [
            {"text": text} | {name: count(text) for name, count in COUNTERS.items()}
            for text in TEXTS
        ],
        "assembly": assemblies(),
        "v1": v1_cases(),
        "histories": [
            {"name": name, "messages": [as_json(m) for m in messages]}
            for name, messages in HISTORIES.items()
        ],
        "windows": windows(),
    }
    blocks = (f'"{name}": [\n{_lines(rows)}\n]' for name, rows in parts.items())
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def _lines(rows: Sequence[object]) -> str:
    return ",\n".join(json.dumps(row) for row in rows)


if __name__ == "__main__":
    FILE.write_text(vectors(), encoding="utf-8")
