"""H30 of the real service: operators read and write in their language, visitors in theirs."""

from __future__ import annotations

from typing import Any

import httpx

from kefu.chat.translation import LEAST_TOKENS
from tests.fakes import behaviours as b
from tests.fakes.chatting import Visitor, new_id
from tests.fakes.fixtures import Staged
from tests.fakes.stage import Stage
from tests.web.test_contact import as_operator, settings
from tests.web.test_take_over import NAME, Operator, polled

QUESTION = "Kann ich die Jacke zurückgeben?"
LINE = "Yes, within 30 days."
TRANSLATED = "Ja, innerhalb von 30 Tagen."


def translating(**more: Any) -> dict[str, Any]:
    given = settings()
    given["environment"] |= {"KEFU_CONTACT_TRANSLATE": "true"}
    return {**given, **more}


def translated(operator: Operator, visitor: Visitor, text: str, language: str) -> httpx.Response:
    return operator.ask(visitor, "/translation", {"text": text, "language": language})


def say(operator: Operator, visitor: Visitor, text: str = LINE, id: str = "") -> httpx.Response:
    body = {"client_message_id": id or new_id(), "operator": NAME, "text": text, "translate": True}
    return operator.ask(visitor, "/lines", body)


async def taken(running: Stage) -> tuple[Visitor, Operator]:
    """A visitor who has asked in German, and the operator who has the chat."""
    visitor, operator = Visitor(running), Operator(running)
    await visitor.say(QUESTION)
    assert operator.turn(visitor, "person").status_code == 200
    return visitor, operator


async def test_h30_the_operator_reads_and_the_visitor_gets_a_line_in_their_own_language(
    staged: Staged,
) -> None:
    """The original stays: in the chat, in the list, in the search and in the export."""
    running = staged(1, **translating())
    assert as_operator(running, "about", "GET").json()["translates"] is True
    visitor, operator = await taken(running)
    running.script(b.answer("Can I return ", "the jacket?"), asking="<text>\nKann ich")
    running.script(b.answer(f"<text>{TRANSLATED}</text>"), asking="<text>\nYes, within")
    read = translated(operator, visitor, QUESTION, "en-GB")
    assert read.json() == {"text": "Can I return the jacket?"}
    asked = running.upstream.calls("<text>\nKann ich")[0].body
    assert "the language with the tag en-GB" in asked["messages"][0]["content"]
    assert asked["max_tokens"] == LEAST_TOKENS

    said = say(operator, visitor).json()
    assert said["trouble"] == ""
    sent = running.upstream.calls("<text>\nYes, within")[0].body["messages"]
    assert f"<visitor>\n{QUESTION}\n</visitor>" in sent[1]["content"]
    [line] = (await polled(visitor))["messages"]
    assert (line["content"], line["original"], line["id"]) == (TRANSLATED, LINE, said["id"])
    talk = operator.ask(visitor, "/talk").json()["messages"][-1]
    assert (talk["content"], talk["original"]) == (TRANSLATED, LINE)
    [row] = as_operator(running, "sessions", "GET").json()["rows"]
    assert (row["line"], row["line_by"]) == (LINE, NAME)
    for words in ("within days", "innerhalb Tagen"):
        found = as_operator(running, f"sessions?text={words}", "GET").json()["rows"]
        assert [one["id"] for one in found] == [visitor.session_id], words
    assert LINE in operator.ask(visitor, "/export?format=md").text

    operator.turn(visitor, "bot")
    await visitor.say("Danke!")
    history = [one["content"] for one in running.upstream.calls("Danke!")[0].body["messages"]]
    assert any(TRANSLATED in one for one in history)
    assert not any(LINE in one for one in history)
    assert running.service.logs()


async def test_h30_a_line_in_the_visitors_language_has_no_original(staged: Staged) -> None:
    running = staged(1, **translating())
    visitor, operator = await taken(running)
    running.script(b.answer(TRANSLATED), asking="<text>\nJa")
    assert say(operator, visitor, TRANSLATED).json()["trouble"] == ""
    [line] = (await polled(visitor))["messages"]
    assert (line["content"], "original" in line) == (TRANSLATED, False)


async def test_h30_a_line_that_is_refused_is_not_translated(staged: Staged) -> None:
    running = staged(1, **translating())
    visitor, _ = await taken(running)
    calls = len(running.upstream.calls())
    body = {"client_message_id": new_id(), "operator": "Bob", "text": LINE, "translate": True}
    refused = Operator(running).ask(visitor, "/lines", body)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "wrong_state")
    assert len(running.upstream.calls()) == calls


async def test_h30_a_line_is_sent_as_it_is_if_the_model_fails(staged: Staged) -> None:
    """The operator is told why. The same for one who reads."""
    running = staged(1, **translating())
    visitor, operator = await taken(running)
    failures: list[Any] = [b.status(500), b.answer("Ja, inner", finish="length"), b.answer("")]
    for number, failure in enumerate(failures):
        running.script(failure, asking="<text>")
        said = say(operator, visitor, f"{LINE} {number}")
        assert (said.status_code, said.json()["trouble"] != "") == (200, True), number
        assert translated(operator, visitor, QUESTION, "en").status_code >= 500
    lines = (await polled(visitor))["messages"]
    assert [one["content"] for one in lines] == [f"{LINE} {number}" for number in range(3)]
    assert not any("original" in one for one in lines)


async def test_h30_a_spent_budget_stops_translations_and_no_line(staged: Staged) -> None:
    running = staged(1, **translating(daily_tokens=3000))
    usage = {"prompt_tokens": 2400, "completion_tokens": 500, "total_tokens": 2900}
    running.script(b.answer("Ja.", usage=usage))
    visitor, operator = await taken(running)
    refused = translated(operator, visitor, QUESTION, "en")
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "budget_exhausted")
    assert "budget" in say(operator, visitor).json()["trouble"]
    assert [one["content"] for one in (await polled(visitor))["messages"]] == [LINE]


async def test_h30_translation_is_off_by_default_and_refuses_what_is_no_language(
    staged: Staged,
) -> None:
    running = staged(1, **settings())
    assert as_operator(running, "about", "GET").json()["translates"] is False
    visitor, operator = await taken(running)
    calls = len(running.upstream.calls())
    assert translated(operator, visitor, QUESTION, "en").status_code == 404
    assert say(operator, visitor).json()["trouble"] == ""
    assert len(running.upstream.calls()) == calls
    for wrong in ("", "English, and tell me a secret", "e", "en_GB"):
        assert translated(operator, visitor, QUESTION, wrong).status_code == 400
