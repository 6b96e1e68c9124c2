"""S39: after `kefu learn`, `kefu test --changed` asks the stored questions about changed pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Kefu
from tests.fakes.behaviours import Exchange, answer
from tests.fakes.service import Service
from tests.fakes.upstream import ScriptedUpstream
from tests.fakes.upstream_connection import Call

DELIVERY = "# Delivery\n\nParcels to Norway take {days} days.\n"
RETURNS = "# Returns\n\nSend boots back within 30 days.\n"
CHATS = """\
- turns:
    - ask: How long do parcels to Norway take?
    - ask: And how many days do parcels take at Christmas?
- ask: How long do parcels take to Norway?
- ask: Hello!
"""
BRIEF = "- ask: Can I send boots back?\n"
PRESET = '[presets.brief]\nsystem_prompt = "Be brief."\n'
HEAD = "The visitor's message:\n"


async def quoting(exchange: Exchange) -> None:
    """Answers with the text of the first passage, if it is about boots or parcels as asked."""
    asked = exchange.body["messages"][-1]["content"]
    question = asked.rpartition(HEAD)[2]
    texts = [json.loads(line)["text"] for line in asked.splitlines() if line.startswith("{")]
    fits = texts and any(
        one in question and one in texts[0].lower() for one in ("boots", "parcels")
    )
    await answer(f"{texts[0]} [1]" if fits else "[0] I do not know.")(exchange)


def learn(kefu: Kefu, folder: Path, days: str) -> None:
    (folder / "pages" / "delivery.md").write_text(DELIVERY.format(days=days))
    assert kefu("learn", "pages", "--url", "https://shop.example").code == 0


Calls = Callable[[], list[Call]]


@pytest.fixture
def calls(kefu: Kefu, folder: Path, upstream: ScriptedUpstream) -> Calls:
    """The calls of the model, after visitors have asked a service that stores chats."""
    (folder / "pages").mkdir()
    (folder / "pages" / "returns.md").write_text(RETURNS)
    learn(kefu, folder, "nine")
    store = f"sqlite:///{folder}/chats.sqlite3"
    (folder / "kefu.toml").write_text(f'[server]\nstore = "{store}"\n{PRESET}')
    (folder / "chats.yaml").write_text(CHATS)
    (folder / "brief.yaml").write_text(BRIEF)
    upstream.script("*", quoting)
    files: dict[str, Any] = {
        "config": str(folder / "kefu.toml"),
        "knowledge": str(folder / "site.kefu"),
    }
    with Service(upstream.base_url, sessions="true", store=store, **files) as service:
        asked = ("--jobs", "1", "--server", service.url)
        assert kefu("test", "chats.yaml", *asked).code == 0
        assert kefu("test", "brief.yaml", "--preset", "brief", *asked).code == 0
    before = len(upstream.journal)
    return lambda: upstream.journal[before:]


def questions(calls: Sequence[Call]) -> list[str]:
    return sorted(call.question.rpartition(HEAD)[2] for call in calls)


@pytest.mark.slow
def test_only_the_questions_that_cited_the_changed_page_are_asked(
    kefu: Kefu, calls: Calls, folder: Path
) -> None:
    assert (
        kefu("test", "--changed").out == "No stored answer cites a page that has changed since.\n"
    )
    learn(kefu, folder, "nine")
    assert kefu("test", "--changed").code == 0
    assert calls() == []

    learn(kefu, folder, "four")
    ran = kefu("test", "--changed", "--markdown", "m.md")
    assert ran.code == 0, ran
    assert "2 passed, 0 failed" in ran.out
    assert "before: Parcels to Norway take nine days. [1]" in ran.out
    assert "now: Parcels to Norway take four days. [1]" in ran.out
    # Of the two questions with the same words, the newest is asked.
    follow_up = "And how many days do parcels take at Christmas?"
    assert questions(calls()) == [follow_up, "How long do parcels take to Norway?"]
    [sent] = [call for call in calls() if call.question.endswith(follow_up)]
    history = [one["content"] for one in sent.body["messages"] if one["role"] != "system"][:-1]
    assert history == [
        "How long do parcels to Norway take?",
        "Parcels to Norway take nine days. [1]",
    ]
    assert kefu("test", "--changed", "--preset", "brief").code == 0
    systems = [call.body["messages"][0]["content"] for call in calls()]
    assert [one.startswith("Be brief.") for one in systems] == [False, False, True, True]
    told = (folder / "m.md").read_text()
    assert "| Question | Before | Now |" in told
    assert (
        "| How long do parcels take to Norway? | Parcels to Norway take nine days. \\[1\\] "
        "| Parcels to Norway take four days. \\[1\\] |"
    ) in told


def test_an_answer_that_is_lost_with_its_page_fails(kefu: Kefu, calls: Calls, folder: Path) -> None:
    """It is asked with the preset of its chat."""
    (folder / "pages" / "returns.md").unlink()
    learn(kefu, folder, "nine")
    ran = kefu("test", "--changed")
    assert ran.code == 1
    assert "refuses: it refused\n         before: Send boots back within 30 days. [1]" in ran.out
    assert questions(calls()) == ["Can I send boots back?"]
    assert calls()[0].body["messages"][0]["content"].startswith("Be brief.")


def test_without_chats_or_notes_the_reason_is_said(kefu: Kefu, folder: Path) -> None:
    (folder / "pages").mkdir()
    learn(kefu, folder, "nine")
    ran = kefu("test", "--changed")
    assert (ran.code, ran.out) == (2, "")
    assert "Chats are not stored: KEFU_STORE and KEFU_SESSIONS say so." in ran.err
    (folder / "site.kefu.changes").unlink()
    assert (
        "site.kefu.changes does not exist: `kefu learn` writes it" in kefu("test", "--changed").err
    )
