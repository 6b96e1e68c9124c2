"""H30 in Chromium: an operator reads a visitor's German in English, and answers in English."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.fakes import behaviours as b
from tests.fakes.chatting import Visitor, new_id
from tests.fakes.fixtures import Staged
from tests.web.test_contact import TOKEN, send
from tests.web.test_insights_page import shot, visit
from tests.web.test_take_over import polled
from tests.web.test_translation import LINE, QUESTION, TRANSLATED, translating

SHOTS = os.environ.get("SHOTS")
ENGLISH, HELP, HELP_ENGLISH = "Can I return the jacket?", "Bitte helfen Sie mir.", "Please help me."
ANSWER, ANSWER_ENGLISH = "Das weiß ich nicht.", "I do not know."


def alone(name: str) -> list[tuple[str, Any]]:
    return shot(f"translation-{name}", ".lines") if SHOTS else []


@pytest.mark.slow
async def test_h30_a_switch_shows_translations_and_sends_them(staged: Staged) -> None:
    """The original stays in sight on both sides, and a failing model delays no line."""
    running = staged(1, **translating())
    visitor = Visitor(running)
    for text, answer in (
        (f"<text>\n{QUESTION}", ENGLISH),
        (f"<text>\n{HELP}", HELP_ENGLISH),
        (f"<text>\n{ANSWER}", ANSWER_ENGLISH),
        (f"<text>\n{LINE}", TRANSLATED),
    ):
        running.script(b.answer(answer), asking=text)
    running.script(b.status(500), asking="<text>\nGoodbye")
    running.script(b.answer(ANSWER))
    await visitor.say(QUESTION)
    assert (await send(visitor, new_id(), message=HELP)).status_code == 204
    on = "button:has-text('Translate')[aria-pressed=true]"
    seen = visit(
        running,
        ("wait", ".rows a"),
        ("texts", ["request", ".rows q"]),
        ("click", ".rows a"),
        ("wait", ".talk.live"),
        ("count", ["before", ".translation:visible"]),
        ("click", "button:has-text('Translate')"),
        ("wait", on),
        ("wait", f".translation:has-text('{HELP_ENGLISH}')"),
        ("wait", f".translation:has-text('{ANSWER_ENGLISH}')"),
        ("wait", f".translation:has-text('{ENGLISH}')"),
        ("texts", ["originals", ".bubble .text"]),
        ("fill", [".talk input[name=operator]", "Ingrid"]),
        ("click", ".talk .accent"),
        ("fill", [".talk textarea", LINE]),
        ("click", ".talk .accent"),
        ("wait", f".person .translation:has-text('{TRANSLATED}')"),
        ("texts", ["said", ".bubble.person"]),
        ("fill", [".talk textarea", "Goodbye."]),
        ("click", ".talk .accent"),
        ("wait", ".person:has-text('Goodbye.')"),
        ("texts", ["alert", ".talk .trouble"]),
        ("axe", "light"),
        *alone("light"),
        ("scheme", "dark"),
        ("axe", "dark"),
        *alone("dark"),
        ("size", [390, 844]),
        ("overflow", "overflow"),
        ("axe", "phone"),
        *alone("phone"),
        ("click", on),
        ("hidden", f".user .translation:has-text('{ENGLISH}')"),
        ("kept", "kept"),
    )
    assert seen["request"] == [HELP]
    assert (seen["before"], seen["overflow"], seen["axe"]) == (0, 0, [])
    assert [one.strip() for one in seen["originals"]] == [QUESTION, ANSWER, HELP]
    assert LINE in seen["said"][0]
    assert f"Sent as: {TRANSLATED}" in seen["said"][0]
    assert seen["alert"][0].startswith("Sent as you wrote it. ")
    assert '"kefu-panel-translate":"off"' in seen["kept"]
    lines = (await polled(visitor))["messages"]
    assert [one["content"] for one in lines] == [TRANSLATED, "Goodbye."]
    assert TOKEN not in seen["kept"]
