"""G31: a question in vain, its answer by a person, and the same question of the next visitor."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes import behaviours as b
from tests.fakes.asking import client
from tests.fakes.chatting import STORE, Visitor, new_id
from tests.fakes.fixtures import Staged
from tests.fakes.stage import Stage
from tests.web.test_contact import send
from tests.web.test_knowledge import learn, passages
from tests.web.test_take_over import Operator

TOKEN = "operator-token-5f3c9a7e1b-6d20c81f"
QUESTION = "Do you deliver to Svalbard?"
WRITTEN = {
    "question": QUESTION,
    "text": "Yes, to **Longyearbyen** in ten days.",
    "author": "Anna",
    "page": "https://shop.example/help/delivery",
}


def answering(staged: Staged, folder: Path, **more: Any) -> Stage:
    """A service with pages that say nothing about Svalbard, and a model that cites the first."""
    file = learn(folder / "shop.kefu")
    settings = {"store": STORE, "environment": {"ADMIN_TOKEN": TOKEN}, **more}
    running = staged(9, knowledge=str(file), **settings)
    running.script(b.answer("[0] The pages do not say."), b.answer("In ten days [1]."))
    return running


def as_operator(
    running: Stage, method: str, path: str = "", body: object = None, of: str = "answers"
) -> httpx.Response:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    url = f"{running.url}/admin/api/{of}{path}"
    return httpx.request(method, url, json=body, headers=headers, timeout=30)


def write(running: Stage, **changed: Any) -> dict[str, Any]:
    answer = as_operator(running, "POST", "", {**WRITTEN, **changed})
    found: dict[str, Any] = answer.raise_for_status().json()
    return found


async def given(running: Stage, question: str) -> list[Any]:
    """The passages that the model gets for a question of a new visitor."""
    count = len(running.upstream.calls(question))
    assert (await Visitor(running).say(question)).complete
    call = await running.upstream.asked(question, count + 1)
    return passages(call.body["messages"][-1]["content"])


async def talked(visitor: Visitor, operator: Operator, line: str) -> None:
    """The visitor asks for a person by the form. The operator answers, and hands back."""
    request = {"email": "kari@example.no", "message": f"{QUESTION} Order 20261."}
    assert (await send(visitor, new_id(), **request)).status_code == 204
    operator.turn(visitor, "person")
    operator.say(visitor, "Hello Kari!")
    operator.say(visitor, line)
    operator.turn(visitor, "bot")


async def test_g31_an_answer_is_found_by_the_next_visitor_named_and_gone_when_withdrawn(
    staged: Staged, tmp_path: Path
) -> None:
    running = answering(staged, tmp_path)
    first = Visitor(running)
    unanswered = await first.say(QUESTION, sources=True)
    assert unanswered.chunks[-1]["answered"] is False
    begun = time.monotonic()
    saved = write(running, session_id=first.session_id)
    assert saved["cited_as"].startswith("Answered by Anna, ")

    answered = await Visitor(running).say(QUESTION, sources=True)
    assert time.monotonic() - begun < 2
    assert answered.text == "In ten days [1]."
    [*_, source] = answered.chunks[0]["sources"][:1]
    assert source == {"number": 1, "title": saved["cited_as"], "url": WRITTEN["page"]}
    assert answered.chunks[-1] == {
        "object": "kefu.sources", "choices": [], "used": [1], "answered": True
    }  # fmt: skip
    passage, *_ = await given(running, "can you send things to SVALBARD")
    assert passage["title"] == QUESTION
    assert passage["text"] == "Yes, to Longyearbyen in ten days."
    assert (await given(running, "how long do parcels to Norway take"))[0]["title"] == "Delivery"

    edited = as_operator(running, "PUT", f"/{saved['id']}", {**WRITTEN, "text": "No, never."})
    assert edited.json()["session_id"] == first.session_id
    assert edited.json()["created_at"] == saved["created_at"]
    assert (await given(running, QUESTION))[0]["text"] == "No, never."
    for _ in range(2):
        assert as_operator(running, "DELETE", f"/{saved['id']}").status_code == 204
    assert QUESTION not in [one["title"] for one in await given(running, QUESTION)]
    assert as_operator(running, "GET").json()["answers"] == []
    running.service.stop()
    actions = [line["action"] for line in running.service.logs() if "action" in line]
    assert actions == [
        *("write answer", "edit answer", "withdraw answer", "withdraw answer", "read answers")
    ]


@pytest.mark.slow
async def test_g31_another_process_finds_a_new_answer_within_two_seconds(
    staged: Staged, tmp_path: Path
) -> None:
    """As by `kefu answers`, or by another worker behind one address."""
    running = answering(staged, tmp_path)
    store = f"sqlite:///{running.service.folder / 'chats.sqlite3'}"
    other = answering(staged, tmp_path, store=store)

    async def finds_within_two_seconds(title: str) -> None:
        end = time.monotonic() + 2
        while (await given(other, QUESTION))[0]["title"] != title:
            assert time.monotonic() < end

    await finds_within_two_seconds("Delivery")
    saved = write(running)
    await finds_within_two_seconds(QUESTION)
    as_operator(running, "DELETE", f"/{saved['id']}")
    await finds_within_two_seconds("Delivery")


async def test_g31_what_may_name_the_visitor_is_marked_before_it_is_public(
    staged: Staged, tmp_path: Path
) -> None:
    running = answering(staged, tmp_path, environment={
        "ADMIN_TOKEN": TOKEN, "KEFU_CONTACT_FORM": "name,email,message"
    })  # fmt: skip
    visitor = Visitor(running)
    await visitor.say(QUESTION)
    form = {"client_message_id": new_id(), "name": "Kari Nordmann", "email": "k@example.no"}
    url = f"{running.url}/api/sessions/{visitor.session_id}/contact"
    async with client() as browser:
        told = await browser.post(url, json={**form, "message": "?"}, headers=visitor.headers)
    assert told.status_code == 204
    text = "Yes, nordmann: order 20261 goes to kari@example.no today."
    draft = {**WRITTEN, "text": text, "session_id": visitor.session_id}
    marks = as_operator(running, "POST", "/marks", draft).json()["marks"]
    assert [(text[one["start"] : one["end"]], one["kind"]) for one in marks] == [
        ("nordmann", "name"),
        ("20261", "number"),
        ("kari@example.no", "email"),
    ]
    refused = as_operator(running, "POST", "", draft)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "reviewed")
    assert as_operator(running, "GET").json()["count"] == 0
    assert write(running, **{**draft, "reviewed": True})["text"] == text
    assert "kari@example.no" not in running.service.stderr


async def test_g31_an_answer_names_its_chat_which_may_take_it_along(
    staged: Staged, tmp_path: Path
) -> None:
    running = answering(staged, tmp_path)
    visitors = [Visitor(running), Visitor(running)]
    for visitor in visitors:
        await visitor.say(QUESTION)
        write(running, session_id=visitor.session_id)
    kept, gone = (visitor.session_id for visitor in visitors)
    for chat in (kept, gone):
        [named] = as_operator(running, "GET", f"?session_id={chat}").json()["answers"]
        assert named["question"] == QUESTION
    for chat, how in ((kept, ""), (gone, "?answers=withdraw")):
        deleted = as_operator(running, "DELETE", f"/{chat}{how}", of="sessions")
        assert deleted.status_code == 204
    [left] = as_operator(running, "GET").json()["answers"]
    assert left["session_id"] == kept


async def test_h28_a_talk_becomes_an_answer_and_a_case_that_passes(
    staged: Staged, tmp_path: Path
) -> None:
    running = answering(staged, tmp_path, environment={
        "ADMIN_TOKEN": TOKEN, "KEFU_CONTACT_FORM": "email,message"
    })  # fmt: skip
    visitor, operator = Visitor(running), Operator(running)
    await visitor.say("I want a person.")
    assert as_operator(running, "GET", f"/draft?session_id={visitor.session_id}").status_code == 404
    await talked(visitor, operator, "Yes, to Longyearbyen.")
    draft = as_operator(running, "GET", f"/draft?session_id={visitor.session_id}").json()
    marks = [(draft[one["field"]][one["start"] : one["end"]]) for one in draft.pop("marks")]
    assert marks == ["20261", "Kari"]
    assert draft == {
        "question": f"{QUESTION} Order 20261.",
        "text": "Hello Kari!\n\nYes, to Longyearbyen.",
        "author": operator.name,
        "session_id": visitor.session_id,
    }
    assert as_operator(running, "GET").json()["count"] == 0
    assert as_operator(running, "POST", "", draft).status_code == 400
    saved = write(running, **{**draft, "question": QUESTION, "text": "Yes, to Longyearbyen."})
    assert (saved["author"], saved["session_id"]) == (operator.name, visitor.session_id)

    cases = tmp_path / "questions.jsonl"
    cases.write_text(json.dumps(saved["case"]), encoding="utf-8")
    running.script(b.answer('{"pass": true, "reason": "It agrees."}'), asking="Agrees with this")
    tested = running.service.kefu("test", str(cases), "--server", running.url)
    assert (tested.returncode, "1 passed, 0 failed" in tested.stdout) == (0, True)
    as_operator(running, "DELETE", f"/{saved['id']}")
    running.script(b.answer("[0] The pages do not say."))
    tested = running.service.kefu("test", str(cases), "--server", running.url)
    assert (tested.returncode, "cites: it cites no page" in tested.stdout) == (1, True)


def test_g31_the_list_has_pages_and_wrong_answers_are_refused(
    staged: Staged, tmp_path: Path
) -> None:
    running = answering(staged, tmp_path)
    ids = [f"answer-{number:03}" for number in range(103)]
    for id in ids:
        assert as_operator(running, "PUT", f"/{id}", WRITTEN).is_success
    first = as_operator(running, "GET").json()
    second = as_operator(running, "GET", f"?cursor={first['cursor']}").json()
    found = [one["id"] for one in (*first["answers"], *second["answers"])]
    assert (found, second["cursor"], first["count"]) == (ids[::-1], None, 103)
    assert as_operator(running, "GET", f"/{ids[0]}").json()["id"] == ids[0]
    assert as_operator(running, "GET", "/answer-none").status_code == 404
    for changed, param in (
        ({"question": " "}, "question"),
        ({"text": "x" * 8001}, "text"),
        ({"page": "javascript:alert(1)"}, "page"),
        ({"author": "x" * 61}, "author"),
    ):
        refused = as_operator(running, "POST", "", {**WRITTEN, **changed})
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, param)
    assert as_operator(running, "PUT", "/a%20b", WRITTEN).status_code == 400
    url = f"{running.url}/admin/api/answers"
    assert httpx.post(url, json=WRITTEN, timeout=30).status_code == 401


def test_g31_assistants_find_and_read_an_answer_at_mcp(staged: Staged, tmp_path: Path) -> None:
    running = answering(staged, tmp_path, mcp="on")
    write(running, page="")

    def call(name: str, **arguments: object) -> dict[str, Any]:
        parameters = {"name": name, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
        headers = {"Accept": "application/json, text/event-stream"}
        answer = httpx.post(f"{running.url}/mcp", json=body, headers=headers, timeout=30)
        found: dict[str, Any] = answer.raise_for_status().json()["result"]["structuredContent"]
        return found

    first, *_ = call("search_pages", query=QUESTION)["passages"]
    assert (first["title"], first["url"]) == (QUESTION, "")
    assert call("read_page", page=first["page"])["text"] == first["text"]


def test_g31_a_server_without_pages_has_no_answers_and_says_so(staged: Staged) -> None:
    running = staged(1, store=STORE, environment={"ADMIN_TOKEN": TOKEN})
    refused = as_operator(running, "POST", "", WRITTEN)
    assert refused.status_code == 404
    assert "kefu learn" in refused.json()["error"]["message"]
