"""H24 in Chromium: an operator who goes from chat to chat writes in the one that is shown."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.behaviours import answer
from tests.fakes.browser import told_by
from tests.fakes.chatting import Visitor, new_id
from tests.fakes.fixtures import Staged
from tests.fakes.stage import ORIGIN
from tests.web.test_contact import TOKEN, send, settings
from tests.web.test_take_over import Operator

SCRIPT = Path(__file__).with_name("panel_between.mjs")


@pytest.mark.slow
async def test_h24_an_operator_who_goes_from_chat_to_chat_writes_in_the_shown_one(
    staged: Staged,
) -> None:
    running = staged(1, **settings())
    visitors = [Visitor(running), Visitor(running)]
    for visitor in visitors:
        # The second one's are more than the panel shows at once.
        for number in range(8 if visitor is visitors[0] else 101):
            await visitor.say(f"Question {number}. " * 20)
        assert (await send(visitor, new_id())).status_code == 204
    other = Visitor(running)
    await other.say("Do you ship to Norway?")
    assert other.session_id
    headers = {**other.headers, "Origin": ORIGIN, "X-Session-Id": other.session_id}
    operator = Operator(running)
    for visitor in visitors:
        operator.turn(visitor, "person")
    running.script(answer("Wrapped", *[" slowly"] * 60, delay=0.5), asking="wrap gifts")
    anna, bert = (one.session_id or "" for one in visitors)
    seen: dict[str, Any] = await asyncio.to_thread(
        told_by,
        *(SCRIPT, running.url, TOKEN, anna, bert, operator.name),
        *(other.session_id, json.dumps(headers)),
        timeout=120,
    )
    assert max(seen["gaps"]) < 2
    assert "has had this chat since" in seen["after"]
    assert (seen["missing"], seen["id"]) == (0, "")
    assert seen["status"] == 0
    lines = [text.split("\n")[0] for text in seen["order"]]
    assert (lines[0], lines[2]) == ("Do you wrap gifts?", "We do.")
    assert lines[1].startswith("Wrapped")
    assert lines[1].count("slowly") < 60
    assert seen["asked"] == 0
    assert seen["again"] == 0
    assert seen["first"].startswith("Question 1.")
    assert seen["gone"] == ["This chat was deleted.", 0, 0, 0]
    known = ("404", "net::ERR_FAILED")
    assert all(any(one in error for one in known) for error in seen["errors"]), seen["errors"]
