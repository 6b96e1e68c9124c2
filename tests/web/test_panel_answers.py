"""H28 in Chromium: two clicks make a talk the answer of all, and a case for `kefu test`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from kefu.evaluation.questions import read
from tests.fakes.browser import told_by
from tests.fakes.chatting import Visitor
from tests.fakes.fixtures import Staged
from tests.parts.plugin import slow
from tests.web.test_answers import QUESTION, TOKEN, answering, as_operator, talked
from tests.web.test_take_over import Operator

SCRIPT = Path(__file__).with_name("panel_answers.mjs")


@pytest.mark.slow
@pytest.mark.parametrize("theme", [slow("light"), "dark"])
async def test_h28_a_talk_is_published_with_two_clicks_and_withdrawn(
    staged: Staged, tmp_path: Path, theme: str
) -> None:
    running = answering(staged, tmp_path, environment={
        "ADMIN_TOKEN": TOKEN, "KEFU_CONTACT_FORM": "email,message"
    })  # fmt: skip
    visitor, other, operator = Visitor(running), Visitor(running), Operator(running)
    await other.say(QUESTION, sources=True)
    await visitor.say("I want a person.")
    await talked(visitor, operator, "Yes, to **Longyearbyen**.")
    assert visitor.session_id
    assert other.session_id
    seen: dict[str, Any] = await asyncio.to_thread(
        told_by,
        *(SCRIPT, running.url, TOKEN, visitor.session_id, other.session_id, theme),
        timeout=120,
    )
    for part in (QUESTION, "Yes, to Longyearbyen.", "Answered by", operator.name):
        assert part in seen["preview"]
    assert seen["marked"] == ["20261", "Kari"]
    assert seen["warned"] == "Publish with the marked words"
    assert seen["refused"] == [8001, "At most 8,000 characters."]
    assert "Longyearbyen" in seen["bold"]
    assert seen["calm"] == [0, "Publish"]
    assert "Answered by Ingrid, " in seen["made"]
    assert seen["hint"].startswith(f'"{QUESTION}" was not on the pages.')
    assert (seen["asked"], seen["isFocused"]) == (QUESTION, True)
    assert seen["typed"] == "Typed"
    assert (seen["wrong"], seen["errors"]) == ([], [])
    assert as_operator(running, "GET").json()["count"] == 0

    file = tmp_path / "questions.jsonl"
    file.write_text(seen["line"], encoding="utf-8")
    [case] = read(file)
    [asked] = case.questions
    assert asked.ask == QUESTION
    assert asked.expected.judge == "Agrees with this right answer: Yes, to **Longyearbyen**."
    assert asked.expected.cites is True
