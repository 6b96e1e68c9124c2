"""H22, H23 in Chromium: an open panel tells that somebody waits, and shows what they asked for."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.contract.engines import new_table
from tests.fakes.browser import told_by
from tests.fakes.chatting import Visitor, new_id
from tests.fakes.stage import FAST, ORIGIN, Stage, stage
from tests.parts.plugin import CREDENTIALS, slow
from tests.web.test_contact import EMAIL, TOKEN, settings

SCRIPT = Path(__file__).with_name("panel_watch.mjs")


async def visited(running: Stage, steps: list[Any], **context: str) -> dict[str, Any]:
    """What the steps see in the panel. `context`: of the browser."""
    asked = json.dumps({"url": running.url, "steps": steps, "context": context})
    script = SCRIPT.with_name("panel_visit.mjs")
    seen: dict[str, Any] = await asyncio.to_thread(told_by, script, asked, timeout=120)
    return seen


ASKS_EVERY_MS = 4500
"""The interval of widget/panel/state/queue.ts."""
LOAD_MS = 3000
"""What a busy machine may add, which this test does not measure."""


async def settings_with(engine: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """The settings of a service with a contact form that stores its chats in the engine."""
    given = settings()
    if engine == "postgresql":
        given["store"] = request.getfixturevalue(engine).new_schema()
    elif engine == "dynamodb_local":
        endpoint = request.getfixturevalue(engine)
        table = await new_table(endpoint, time.time, with_ttl=False)
        given["store"] = f"dynamodb://{table.table}"
        given["environment"] |= {**CREDENTIALS, "AWS_ENDPOINT_URL_DYNAMODB": endpoint}
        await table.aclose()
    return given


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite", slow("postgresql"), slow("dynamodb_local")])
async def test_h22_h23_an_open_panel_tells_of_a_visitor_within_five_seconds(
    engine: str, request: pytest.FixtureRequest, aws_environment: dict[str, str]
) -> None:
    given = await settings_with(engine, request)
    with stage(1, **FAST, **given) as running:
        visitor = Visitor(running)
        page = {"title": "Warm socks"}
        assert (await visitor.say("Do you ship to Norway?", context=page)).complete
        headers = {**visitor.headers, "Origin": ORIGIN, "X-Session-Id": visitor.session_id}
        seen: dict[str, Any] = await asyncio.to_thread(
            told_by, SCRIPT, running.url, TOKEN, json.dumps(headers), EMAIL, timeout=120
        )
    assert seen["titles"] == ["Kefu panel", "(1) Kefu panel", "Kefu panel", "(1) Kefu panel"]
    assert max(seen["took"]) <= ASKS_EVERY_MS + LOAD_MS, seen["took"]
    assert "Sessions (1)" in seen["nav"]
    assert "Is anybody there?" in seen["row"]
    assert "waits · now" in seen["row"]
    first, form, second = seen["order"]
    assert "Do you ship to Norway?" in first
    for told in ("Svalbard?", EMAIL, "Warm socks"):
        assert told in form
    assert "Is anybody there?" in second
    assert seen["link"] == f"mailto:{EMAIL.replace('@', '%40')}"
    assert seen["isAtEnd"]
    assert seen["calls"] == [0, 2]
    assert seen["told"] == [
        ["A visitor waits for a person", "Do you ship to Norway?"],
        ["A visitor has written to you", "Thank you!"],
    ]
    assert (seen["wrong"], seen["errors"]) == ([], [])


@pytest.mark.slow
async def test_h25_before_a_person_comes_the_panel_says_whether_the_page_is_open() -> None:
    with stage(1, **FAST, **settings()) as running:
        visitor, gone = Visitor(running), Visitor(running)
        await visitor.say("Do you ship to Norway?")
        await visitor.look("/person")
        await gone.say("Do you ship to Sweden?")
        steps = [
            ["open", f"{running.url}/admin"],
            ["fill", ["input[name=token]", TOKEN]],
            ["click", ".entrance button"],
            ["session", visitor.session_id],
            ["wait", ".talk:has-text('page is open')"],
            ["session", gone.session_id],
            ["texts", ["unknown", ".talk p"]],
        ]
        seen = await visited(running, steps)
    assert seen["unknown"] == ["The model answers this chat.", "", "", ""]


@pytest.mark.slow
async def test_m6_a_pasted_line_that_is_too_long_is_refused_whole_and_stays_in_the_field() -> None:
    pasted = "שלום " * 1600
    with stage(1, **FAST, **settings()) as running:
        visitor = Visitor(running)
        await visitor.say("Do you ship to Norway?")
        steps = [
            ["open", f"{running.url}/admin"],
            ["fill", ["input[name=token]", TOKEN]],
            ["click", ".entrance button"],
            ["session", visitor.session_id],
            ["fill", ["input[name=operator]", "Ingrid"]],
            ["click", ".talk button[type=submit]"],
            ["wait", ".talk textarea"],
            ["paste", [".talk textarea", pasted]],
            ["wait", ".talk textarea:dir(rtl)"],
            ["click", ".talk button[type=submit]"],
            ["wait", ".talk textarea:invalid"],
            ["click", ".talk textarea"],
            ["active", "field"],
        ]
        seen = await visited(running, steps)
    assert seen["field"] == f"TEXTAREA text {pasted}"


async def test_h24_a_refusal_is_in_the_language_of_the_panel() -> None:
    with stage(1, **FAST, **settings()) as running:
        steps = [
            ["open", f"{running.url}/admin#s={'0' * 32}"],
            ["fill", ["input[name=token]", TOKEN]],
            ["click", ".entrance button"],
            ["texts", ["refused", ".pane > .trouble:not(:empty)"]],
        ]
        seen = await visited(running, steps, locale="zh-CN")
    assert seen["refused"] == ["没有这个会话。"]


@pytest.mark.slow
async def test_h22_after_lock_the_title_tells_nobody_how_many_wait() -> None:
    with stage(1, **FAST, **settings()) as running:
        visitor = Visitor(running)
        await visitor.say("Do you ship to Norway?")
        contact = f"{running.url}/api/sessions/{visitor.session_id}/contact"
        form = {"email": EMAIL, "message": "Svalbard?", "consent": True}
        steps = [
            ["post", [contact, {**form, "client_message_id": new_id()}, visitor.headers]],
            ["open", f"{running.url}/admin"],
            ["fill", ["input[name=token]", TOKEN]],
            ["click", ".entrance button"],
            ["wait", "nav a:has-text('(1)')"],
            ["title", "open"],
            ["click", "nav button:has-text('Lock')"],
            ["wait", ".entrance"],
            ["title", "locked"],
        ]
        seen = await visited(running, steps)
    assert (seen["open"], seen["locked"]) == ("(1) Kefu panel", "Kefu panel")
