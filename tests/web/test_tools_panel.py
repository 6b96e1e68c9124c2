"""A15: an operator sees the calls of tools of a turn, finds chats by them, and their numbers."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kefu.sessions.store.model import CallRecord, NewMessage, Session, SessionId, TurnOutcome
from kefu.sessions.store.ports import Sessions
from kefu.tools.use import CUT, STORED_RESULT, Use, stored
from tests.fakes import behaviours as b
from tests.fakes.chatting import STORE, Visitor, store_of
from tests.fakes.fixtures import Staged
from tests.fakes.stage import Stage
from tests.fakes.tool_shop import ToolShop
from tests.web.test_insights import TOKEN, operator, titles
from tests.web.test_insights_page import shot, visit

CHAT, HOSTILE, FAILED = (SessionId(f"{number:032x}") for number in (1, 2, 3))
STATUS = Use(
    "s0c0",
    "order_status",
    '{"order_id":"12345"}',
    state="done",
    result=json.dumps({"state": "sent", "carrier": "Posten"}),
    ms=184,
    title="Looking up your order",
)
CANCEL = Use(
    "s1c0",
    "cancel_order",
    '{"order_id":"12345"}',
    step=1,
    at=len("Order 12345 was sent."),
    state="asked",
    title="Cancelling your order",
    card="Cancel order 12345? 2 items, 89.00 EUR",
    expires=1,
)
LONG = "a long result. " * 300
HOSTILE_TEXT = (
    "</pre><img src=x onerror=alert(1)><script>alert(2)</script> [a](https://evil.example)"
)


async def turn(store: Sessions, chat: SessionId, asked: NewMessage, text: str, *uses: Use) -> int:
    now = time.time()
    known = await store.session(chat)
    session = known or Session(chat, asked.content[:40], "default", now, now)
    begun = await store.begin(session, asked, now)
    outcome = TurnOutcome("ok", text, 900, 120, first_word=0.6, steps=stored(uses))
    await store.finish(chat, begun.message.id, outcome, now)
    return begun.message.id


def record(chat: SessionId, message: int, number: int, reason: str, *results: str) -> CallRecord:
    told = [{"role": "tool", "tool_call_id": STATUS.id, "content": one} for one in results]
    return CallRecord(
        session_id=chat,
        message_id=message,
        number=number,
        attempt=1,
        created_at=time.time(),
        request=json.dumps({"model": "m", "messages": told}).encode(),
        response=json.dumps({"choices": []}),
        meta=json.dumps(
            {"attempts": [{"key": "0123456789ab", "outcome": "ok", "ms": 300, "rested": False}]}
        ),
        finish_reason=reason,
        stream_complete=True,
        ttft=0.3,
        duration=0.9,
        error=None,
        prompt_tokens=900 + number,
        completion_tokens=20,
    )


async def seed(store: Sessions) -> None:
    """A read and a card that is approved, a chat of hostile texts, and failures."""
    cut = STATUS._replace(result=LONG)
    asked = await turn(
        store,
        CHAT,
        NewMessage("Where is my order 12345? Please cancel it.", "a"),
        "Order 12345 was sent.\n\nShall I cancel it?",
        cut,
        CANCEL,
    )
    for number, reason in enumerate(("tool_calls", "tool_calls", "stop"), 1):
        results = [LONG] if number > 1 else []
        await store.record(record(CHAT, asked, number, reason, *results))
    click = NewMessage(f"✓ {CANCEL.card}", CANCEL.approval_id(asked))
    await turn(
        store, CHAT, click, "Order 12345 is cancelled.", CANCEL._replace(state="done", at=0, ms=412)
    )
    await turn(
        store,
        HOSTILE,
        NewMessage("Hostile results"),
        "I see.",
        Use(
            "s0c0",
            f"x{HOSTILE_TEXT}",
            HOSTILE_TEXT,
            state="unsure",
            result=HOSTILE_TEXT,
            title=f"\u202e{HOSTILE_TEXT}",
            card=HOSTILE_TEXT,
        ),
    )
    declined = CANCEL._replace(state="denied", at=0)
    await turn(store, FAILED, NewMessage("Is it in stock?"), "I cannot say.", *failures())
    await turn(store, FAILED, NewMessage("✗ Cancel it?"), "It stays as it is.", declined)


def failures() -> list[Use]:
    made_up = Use("s0c1", "teleport", "{}", state="failed", result="There is no tool 'teleport'.")
    late = "No result within 10 s."
    stock = STATUS._replace(
        name="stock", title="Looking into the shop", state="failed", result=late
    )
    return [stock._replace(ms=10_002), made_up]


@pytest.fixture
async def panel(staged: Staged) -> AsyncIterator[Stage]:
    stage = staged(1, environment={"ADMIN_TOKEN": TOKEN}, sessions="true", store=STORE)
    async with store_of(stage, time.time) as store:
        await seed(store)
        yield stage


TABLES = """
[tools.order_status]
url = "{url}/orders/{{order_id}}"
description = "State of an order."
title = "Looking up your order"
parameters.order_id.type = "string"

[tools.cancel_order]
url = "{url}/orders/{{order_id}}/cancel"
method = "POST"
description = "Cancels an order."
title = "Cancelling your order"
approve = "Cancel order {{order_id}}? {{items}} items"
preview = "order_status"
parameters.order_id.type = "string"
"""


def calls(name: str, text: str = "") -> b.Stream:
    """An answer of the model that calls a tool."""
    function = {"name": name, "arguments": '{"order_id":"5"}'}
    made = {"index": 0, "id": "c", "type": "function", "function": function}
    usage = {"prompt_tokens": 100, "completion_tokens": 9}
    return b.chunks(
        b.chunk({"role": "assistant", "content": text, "tool_calls": [made]}),
        b.chunk({}, finish="tool_calls"),
        b.chunk(None, usage=usage),
    )


@pytest.mark.slow
async def test_a15_calls_of_a_real_chat_reach_the_panel_with_their_requests(
    staged: Staged, tmp_path: Path
) -> None:
    """A read after a text, a card and its click, and a tool that does not exist."""
    with ToolShop() as shop:
        file = tmp_path / "kefu.toml"
        file.write_text(TABLES.format(url=shop.url))
        environment = {"ADMIN_TOKEN": TOKEN, "KEFU_CONFIG": str(file)}
        stage = staged(1, environment=environment, sessions="true", store=STORE, capture="all")
        visitor = Visitor(stage)
        stage.script(calls("order_status", "Let me look."), b.answer("It is paid."))
        await visitor.say("Where is order 5?", steps=True)
        stage.script(calls("cancel_order"))
        await visitor.say("Cancel it.", steps=True)
        [*_, asked] = (await visitor.look("/messages?steps=true")).json()["messages"]
        click = {"id": asked["approval"]["id"], "approved": True}
        stage.script(b.answer("It is cancelled."))
        body = {"session_id": visitor.session_id, "steps": True, "approval": click}
        await stage.ask(body, headers=visitor.headers)
        stage.script(calls("teleport"), b.answer("I cannot."))
        await visitor.say("Beam me up.", steps=True)
        assert shop.cancelled["5"] == 1
    seen = visit(
        stage,
        ("wait", ".rows a"),
        ("session", visitor.session_id),
        ("texts", ["titles", ".step summary"]),
        ("click", ".step summary"),
        ("texts", ["requests", ".turn:first-of-type .step .quiet"]),
        ("texts", ["results", ".step pre:last-of-type"]),
        *shot("steps-real"),
    )
    assert [re.sub(r"\d+ ms", "", title) for title in seen["titles"]] == [
        "Looking up your order done",
        "Cancelling your order approved",
        "Cancelling your order done",
        "teleport failed",
    ]
    assert seen["requests"] == ["Call 1 · 100 + 9 tokens"]
    assert "89.00 EUR" in "".join(seen["results"])
    tools = {row.pop("tool"): row for row in operator(stage, "insights").json()["tools"]}
    assert (tools["cancel_order"]["asked"], tools["cancel_order"]["approved"]) == (1, 1)
    assert (tools["order_status"]["uses"], tools["?"]["failures"]) == (1, 1)
    assert titles(stage, tool="used") == ["Where is order 5?"]


async def test_a15_the_api_lists_chats_by_their_tools_and_sums_them_up(panel: Stage) -> None:
    failed, hostile = "Is it in stock?", "Hostile results"
    good = "Where is my order 12345? Please cancel i"
    assert titles(panel, tool="used") == [failed, good]
    assert titles(panel, tool="failed") == [failed, hostile]
    assert titles(panel, tool="declined") == [failed]
    assert operator(panel, "sessions", tool="other").status_code == 400
    tools = {row.pop("tool"): row for row in operator(panel, "insights").json()["tools"]}
    none = {"failures": 0, "unsure": 0, "asked": 0, "approved": 0, "declined": 0}
    assert tools["order_status"] == {"uses": 1, **none}
    assert tools["cancel_order"] == {**none, "uses": 1, "asked": 1, "approved": 1, "declined": 1}
    assert tools["stock"] == tools["?"] == {**none, "uses": 1, "failures": 1}


async def test_a15_a_question_has_the_calls_of_its_turn_in_api_and_exports(panel: Stage) -> None:
    shown = operator(panel, f"sessions/{CHAT}").json()
    question, answer, click, _ = shown["messages"]
    first, second = question["steps"]
    assert first["arguments"] == STATUS.arguments
    assert (len(first["result"]), first["result"][-4:]) == (STORED_RESULT, CUT)
    assert second == CANCEL._asdict()
    assert "steps" not in answer
    assert click["steps"][0]["state"] == "done"
    lines = operator(panel, f"sessions/{CHAT}/export", format="jsonl").text.splitlines()
    assert [len(json.loads(line).get("steps", ())) for line in lines if '"steps"' in line] == [2, 1]
    text = operator(panel, f"sessions/{CHAT}/export", format="md").text
    assert "### Tool cancel_order, step 2: done, 412 ms" in text
    assert "Card:\n\n```text\nCancel order 12345? 2 items, 89.00 EUR\n```" in text
    text = operator(panel, f"sessions/{HOSTILE}/export", format="md").text
    assert "### Tool a tool that does not exist, step 1: unsure" in text


@pytest.mark.slow
async def test_a15_the_panel_shows_the_calls_at_their_places_with_words_for_their_states(
    panel: Stage,
) -> None:
    summary = ".step summary"
    seen = visit(
        panel,
        ("wait", ".rows a"),
        ("session", CHAT),
        ("texts", ["said", ".said > *"]),
        ("texts", ["states", f"{summary} .status"]),
        ("axe", "closed"),
        ("press", [summary, "Enter"]),
        ("wait", ".step[open]"),
        ("texts", ["result", ".step[open] pre"]),
        ("texts", ["request", ".step[open] .quiet"]),
        *shot("steps"),
        ("axe", "open"),
        ("press", [".step[open] .quiet", "Enter"]),
        ("focused", "focused"),
        ("session", FAILED),
        ("texts", ["failed", summary]),
        *shot("steps-failed"),
    )
    assert [text[:24] for text in seen["said"]] == [
        "Where is my order 12345?",
        "Looking up your order do",
        "Order 12345 was sent.",
        "Cancelling your order ap",
        "Shall I cancel it?#2 Ass",
        "Add to tests",
        "✓ Cancel order 12345? 2 ",
        "Cancelling your order do",
        "Order 12345 is cancelled",
    ]
    assert seen["states"] == ["done", "approved", "done"]
    assert seen["result"] == ['{\n  "order_id": "12345"\n}', LONG]
    assert seen["request"] == ["Call 1 · 901 + 20 tokens"]
    assert seen["focused"].startswith("Call 1")
    assert seen["failed"] == [
        "Looking into the shop failed10 s",
        "teleport failed",
        "Cancelling your order declined",
    ]
    assert seen["axe"] == []


@pytest.mark.slow
async def test_a15_a11_hostile_texts_of_tools_do_nothing_in_the_panel(panel: Stage) -> None:
    bad = ".said :is(img, script, a, iframe, style, link)"
    seen = visit(
        panel,
        ("wait", ".rows a"),
        ("session", HOSTILE),
        ("click", ".step summary"),
        ("texts", ["texts", ".step pre"]),
        ("texts", ["title", ".step summary bdi"]),
        ("count", ["made", bad]),
        *shot("steps-hostile"),
        ("hash", "insights"),
        ("texts", ["tools", ".tool-sums th[scope=row]"]),
        ("count", ["made_in_sums", ".content :is(img, script, iframe, style, link)"]),
    )
    assert seen["texts"] == [HOSTILE_TEXT, HOSTILE_TEXT]
    assert seen["title"] == [f"\u202e{HOSTILE_TEXT}"]
    assert (seen["made"], seen["made_in_sums"]) == (0, 0)


@pytest.mark.slow
async def test_a15_filters_and_sums_on_a_phone_in_chinese_and_in_the_dark(panel: Stage) -> None:
    only = "select[name=only]"
    seen = visit(
        panel,
        ("wait", ".rows a"),
        ("select", [only, "tool_failed"]),
        ("wait", ".loading:has-text('2')"),
        ("texts", ["failed", ".rows strong"]),
        ("texts", ["marks", ".rows .status"]),
        ("select", [only, "declined"]),
        ("wait", ".rows li:only-child"),
        ("texts", ["declined", ".rows strong"]),
        ("axe", "list"),
        *shot("tools-list-zh"),
        ("hash", "insights"),
        ("texts", ["sums", ".tool-sums tr"]),
        ("top", ".tool-sums"),
        *shot("tools-insights-zh"),
        ("scheme", "dark"),
        ("size", [390, 844]),
        ("overflow", "insights_over"),
        ("axe", "insights"),
        *shot("tools-insights-phone", ".tool-sums"),
        ("session", CHAT),
        ("click", ".step summary >> nth=1"),
        ("overflow", "chat_over"),
        ("axe", "chat"),
        *shot("steps-phone", ".said"),
        locale="zh-CN",
    )
    assert seen["failed"] == ["Is it in stock?", "Hostile results"]
    assert seen["marks"] == ["2 次工具失败", "1 次拒绝", "1 次工具失败"]
    assert seen["declined"] == ["Is it in stock?"]
    assert len(seen["sums"]) == 6
    assert seen["sums"][0] == "工具调用失败不确定卡片批准拒绝"
    assert (seen["insights_over"], seen["chat_over"]) == (0, 0)
    assert seen["axe"] == []
