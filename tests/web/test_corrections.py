"""H10: an operator turns wrong answers into a file of questions that `kefu test` reads."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from kefu.evaluation.cases import Case, CaseQuestion, Expected
from kefu.evaluation.questions import read
from tests.fakes import behaviours as b
from tests.fakes.browser import told_by
from tests.fakes.chatting import STORE, Visitor
from tests.fakes.fixtures import Staged
from tests.parts.plugin import slow

SCRIPT = Path(__file__).with_name("panel_correction.mjs")
TOKEN = "operator-token-5f3c9a7e1b-6d20c81f"


@pytest.mark.parametrize("theme", [slow("light"), "dark"])
async def test_h10_a_click_on_a_wrong_answer_makes_a_case_with_the_chat_before_it(
    staged: Staged, theme: str, tmp_path: Path
) -> None:
    running = staged(2, store=STORE, environment={"ADMIN_TOKEN": TOKEN})
    running.script(b.status(400), asking="<broken>")
    visitor = Visitor(running)
    assert (await visitor.say("<how long> to Norway?")).complete
    assert not (await visitor.say("<broken>")).complete
    assert (await visitor.say('And to "<svalbard>"?')).complete
    assert visitor.session_id
    seen: dict[str, Any] = await asyncio.to_thread(
        told_by, SCRIPT, running.url, TOKEN, visitor.session_id, theme, timeout=120
    )
    assert (seen["name"], seen["said"]) == ("questions.jsonl", "The file has 2 questions.")
    assert (seen["withoutAnswer"], seen["wrong"], seen["errors"]) == (0, [], [])
    file = tmp_path / seen["name"]
    file.write_text(seen["text"], encoding="utf-8")
    before, asked = "<how long> to Norway?", 'And to "<svalbard>"?'

    def right(answer: str) -> Expected:
        return Expected(judge=f"Agrees with this right answer: {answer}")

    first, second = read(file)
    assert first == Case(
        f"{visitor.session_id[:8]} #1", [CaseQuestion(before, right("Nine days."))]
    )
    turns = [CaseQuestion(before, Expected()), CaseQuestion(asked, right('No, "not" at\nall.'))]
    assert second == Case(f"{visitor.session_id[:8]} #5", turns)
