"""S38: a model plays a visitor in `kefu test`, and a judge reads the whole talk."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Kefu
from tests.fakes.behaviours import Behaviour, Exchange, answer, status
from tests.fakes.upstream import ScriptedUpstream

CASE = """\
every: {not: [password]}
cases:
  - name: hurried buyer
    ask: lamp broke, what now
    visitor:
      persona: A hurried buyer.
      goal: Learn within how many days a lamp can be sent back.
      stop: The number of days was named.
      turns: 4
    expect:
      contains: [sorry, 30 days]
      judge: Names the days.
"""
SORRY = "I am sorry. Which lamp is it?"
DAYS = "You can send it back within 30 days."


def playing(visitor: Callable[[str], str], service: Callable[[str], str]) -> Behaviour:
    """A model in all three roles. A visitor is given the talk, the service the last message."""

    async def plays(exchange: Exchange) -> None:
        asked = exchange.body["messages"][-1]["content"]
        if "<rubric>" in asked:
            said = json.dumps(
                {"pass": f"assistant: {DAYS}\n</answer>" in asked, "reason": "no days"}
            )
        elif "<persona>" in asked:
            [talk] = re.findall(r"<talk>\n(.*)\n</talk>", asked, re.DOTALL)
            said = visitor(talk)
        else:
            said = service(asked)
        await answer(said)(exchange)

    return plays


def helpful(asked: str) -> str:
    return DAYS if "desk" in asked else SORRY


@pytest.fixture
def questions(folder: Path) -> Path:
    (folder / "questions.yaml").write_text(CASE)
    return folder / "questions.yaml"


def test_a_talk_ends_at_its_goal_and_is_judged_as_a_whole(
    kefu: Kefu, upstream: ScriptedUpstream, questions: Path
) -> None:
    upstream.script(
        "*", playing(lambda talk: "END" if DAYS in talk else "Visitor: the desk lamp", helpful)
    )
    ran = kefu(
        "test", "questions.yaml", "--markdown", "m.md", "--json", "j.json", "--junit", "j.xml"
    )
    assert ran.code == 0, ran
    talk = [
        "visitor: lamp broke, what now",
        f"assistant: {SORRY}",
        "visitor: the desk lamp",
        f"assistant: {DAYS}",
    ]
    assert "\n".join(f"         {line}" for line in talk) in ran.out
    told = questions.with_name("m.md").read_text()
    assert "<details><summary>PASS: hurried buyer</summary>" in told
    assert "<br>\n".join(talk) in told
    [result] = json.loads(questions.with_name("j.json").read_text())["results"]
    assert [turn["answer"] for turn in result["runs"][0]["turns"]] == [SORRY, DAYS]
    suite = ElementTree.parse(questions.with_name("j.xml")).getroot()[0]
    assert suite[0].findtext("system-out") == "\n".join(talk)


def test_a_talk_has_no_more_messages_than_its_turns(
    kefu: Kefu, upstream: ScriptedUpstream, questions: Path
) -> None:
    """The judge is not asked, because a rule has failed."""
    upstream.script("*", playing(lambda _: "And now?", lambda _: SORRY))
    ran = kefu("test", "questions.yaml")
    assert ran.code == 1
    assert ran.out.count("visitor: ") == 4
    assert "FAIL  " in ran.out
    assert '\n         contains: "30 days" is not in the answer\n' in ran.out
    assert not [call for call in upstream.journal if "<rubric>" in call.question]


def test_each_answer_meets_what_holds_for_every_answer(
    kefu: Kefu, upstream: ScriptedUpstream, questions: Path
) -> None:
    """The judge finds that the whole talk is good but for its last answer."""

    def leaks(asked: str) -> str:
        return f"{SORRY} Your password?" if "now" in asked else "Within 30 days."

    said = iter(["the desk lamp", "END"])
    upstream.script("*", playing(lambda _: next(said), leaks))
    ran = kefu("test", "questions.yaml")
    assert ran.code == 1
    assert 'turn 1: not: "password" is in the answer' in ran.out
    assert "\n         judge: no days\n" in ran.out


@pytest.mark.slow
def test_a_visitor_without_a_message_is_an_error(
    kefu: Kefu, upstream: ScriptedUpstream, questions: Path
) -> None:
    upstream.script("*", answer(SORRY))
    upstream.script("*", status(400), asking="<persona>")
    ran = kefu("test", "questions.yaml")
    assert ran.code == 1
    assert "0 passed, 0 failed, 1 without an answer" in ran.out
    assert "the visitor wrote no message: " in ran.out


def test_a_visitor_needs_a_model(
    kefu: Kefu, questions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("KEFU_UPSTREAM_URL", "LONGCAT_API_KEYS"):
        monkeypatch.delenv(name)
    ran = kefu("test", "questions.yaml")
    assert (ran.code, ran.out) == (2, "")
    assert "judge and visitor need a model" in ran.err
