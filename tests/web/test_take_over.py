"""H4, H5 of the real service: a person takes a chat over, writes, and hands it back."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx
import pytest

from tests.fakes.behaviours import answer
from tests.fakes.chatting import Visitor, new_id
from tests.fakes.fixtures import Staged
from tests.fakes.stage import Stage
from tests.web.test_contact import EMAIL, TOKEN, as_operator, in_panel, send, settings
from tests.web.test_panel_watch import settings_with

NAME = "Ingrid"
LINE = "Yes, we ship to Svalbard: 7 to 10 days."


class Operator:
    """An operator of the panel who may take chats over."""

    def __init__(self, running: Stage, name: str = NAME, token: str = TOKEN) -> None:
        self.running = running
        self.name = name
        self.token = token

    def ask(
        self, visitor: Visitor, rest: str, body: dict[str, Any] | None = None, method: str = ""
    ) -> httpx.Response:
        return httpx.request(
            method or ("POST" if body else "GET"),
            f"{self.running.url}/admin/api/sessions/{visitor.session_id}{rest}",
            json=body,
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=30,
        )

    def turn(self, visitor: Visitor, state: str, **more: str) -> httpx.Response:
        return self.ask(visitor, "/state", {"state": state, "operator": self.name, **more})

    def say(self, visitor: Visitor, text: str, id: str = "") -> httpx.Response:
        body = {"client_message_id": id or new_id(), "operator": self.name, "text": text}
        return self.ask(visitor, "/lines", body)

    def listed(self, state: str) -> list[str]:
        answer = as_operator(self.running, f"sessions?state={state}", "GET")
        return [row["id"] for row in answer.raise_for_status().json()["rows"]]

    def queue(self) -> Any:
        return as_operator(self.running, "queue", "GET").raise_for_status().json()


async def polled(visitor: Visitor, after: int = 0) -> Any:
    return (await visitor.look(f"/person?after={after}" if after else "/person")).json()


def audited(running: Stage) -> list[str]:
    return [record["action"] for record in running.service.logs() if "action" in record]


def sent_to_model(running: Stage) -> list[list[tuple[str, str]]]:
    return [
        [(one["role"], one["content"]) for one in call.body["messages"] if one["role"] != "system"]
        for call in running.upstream.calls()
    ]


async def test_h4_a_person_takes_over_writes_and_hands_back_to_a_model_that_knows_the_talk(
    staged: Staged,
) -> None:
    running = staged(1, **settings())
    visitor, operator = Visitor(running), Operator(running)
    first = await visitor.say("Do you ship to Norway?")
    nobody = {"state": "bot", "operator": "", "messages": [], "questions": [], "writing": False}
    assert (await polled(visitor)) == nobody
    assert (await send(visitor, new_id())).status_code == 204
    assert (await polled(visitor))["state"] == "waiting"
    assert operator.listed("waiting") == [visitor.session_id]
    waited = await visitor.say("And to Svalbard?")
    assert waited.text  # a visitor who waits is answered by the model

    assert operator.turn(visitor, "person").json()["operator"] == NAME
    assert operator.listed("waiting") == []
    assert operator.say(visitor, f"  {LINE}\n").status_code == 200
    found = await polled(visitor)
    assert (found["state"], found["operator"]) == ("person", NAME)
    [line] = found["messages"]
    assert (line["content"], line["operator"], line["role"]) == (LINE, NAME, "assistant")
    assert (await polled(visitor, line["id"]))["messages"] == []

    calls = len(running.upstream.calls())
    asked = new_id()
    quiet = await visitor.say("How much is it?", client_message_id=asked)
    # The page that shows this message already puts the older line above it (M6).
    [question] = (await polled(visitor))["questions"]
    assert question["client_message_id"] == asked
    assert question["id"] > line["id"]
    assert (quiet.status, quiet.text, quiet.complete) == (200, "", True)
    assert len(running.upstream.calls()) == calls
    operator.say(visitor, "49 kroner.")

    assert operator.turn(visitor, "bot").json()["state"] == "bot"
    assert (await polled(visitor))["state"] == "bot"
    assert (await visitor.say("Thank you!")).text
    assert sent_to_model(running)[-1] == [
        ("user", "Do you ship to Norway?"),
        ("assistant", first.text),
        ("user", "And to Svalbard?"),
        ("assistant", f"{waited.text}\n\n{LINE}"),
        ("user", "How much is it?"),
        ("assistant", "49 kroner."),
        ("user", "Thank you!"),
    ]
    exported = (await visitor.look("/export?format=md")).text
    assert f"## {NAME}, " in exported
    transcript = operator.ask(visitor, "/export?format=json").json()
    assert [one["operator"] for one in transcript["messages"] if one["operator"]] == [NAME, NAME]


async def test_h4_the_first_line_of_a_person_waits_for_no_answer_of_the_model(
    staged: Staged,
) -> None:
    running = staged(1, **settings())
    visitor, operator = Visitor(running), Operator(running)
    await visitor.say("Do you ship to Norway?")
    running.script(answer(*["word "] * 600, delay=0.1), asking="gifts")
    asking = asyncio.create_task(visitor.say("Do you wrap gifts?"))
    await running.upstream.asked("gifts")
    assert operator.turn(visitor, "person").status_code == 200
    cut = await asyncio.wait_for(asking, 20)
    assert (cut.status, cut.complete) == (200, True)
    operator.say(visitor, "We do.")
    assert [one["content"] for one in (await polled(visitor))["messages"]] == ["We do."]
    operator.turn(visitor, "bot")
    await visitor.say("Thank you!")
    assert ("user", "Do you wrap gifts?") in sent_to_model(running)[-1]


async def test_h25_a_visitor_learns_that_the_person_is_writing(staged: Staged) -> None:
    running = staged(1, **settings())
    visitor, operator = Visitor(running), Operator(running)
    await visitor.say("Do you ship to Norway?")
    typing = {"operator": NAME}
    assert operator.ask(visitor, "/writing", typing).status_code == 204
    assert (await polled(visitor))["writing"] is False, "nobody has the chat"
    operator.turn(visitor, "person")
    assert operator.ask(visitor, "/writing", typing).status_code == 204
    assert (await polled(visitor))["writing"] is True
    operator.say(visitor, LINE)
    found = await polled(visitor)
    assert (found["messages"][0]["content"], found["writing"]) == (LINE, False)
    operator.ask(visitor, "/writing", {"operator": "Bob"})
    assert (await polled(visitor))["writing"] is False, "Bob does not have the chat"


async def test_h25_the_operator_learns_whether_the_visitors_page_is_open(staged: Staged) -> None:
    running = staged(1, **settings())
    visitor, operator = Visitor(running), Operator(running)
    await visitor.say("Do you ship to Norway?")
    operator.turn(visitor, "person")
    unseen = {"seen_at": None, "is_open": False}
    assert operator.ask(visitor, "/talk").json()["page"] == unseen
    before = time.time()
    await polled(visitor)
    page = operator.ask(visitor, "/talk").json()["page"]
    assert page["is_open"] is True
    assert before - 1 <= page["seen_at"] <= time.time() + 1


async def test_h22_h23_the_operator_sees_who_waits_and_what_they_asked_for(staged: Staged) -> None:
    running = staged(1, **settings())
    visitor, operator = Visitor(running), Operator(running)
    await visitor.say("Do you ship to Norway?")
    assert operator.ask(visitor, "").json()["requests"] == []
    assert (await send(visitor, new_id())).status_code == 204
    await visitor.say("Is anybody there?")

    queue = operator.queue()
    assert (queue["person"]["rows"], queue["trouble"]) == ([], "")
    [waits] = queue["waiting"]["rows"]
    assert (waits["id"], waits["line"], waits["line_by"]) == (
        visitor.session_id,
        "Is anybody there?",
        "",
    )
    assert waits["attendance"]["since"] <= waits["updated_at"]
    [request] = operator.ask(visitor, "").json()["requests"]
    assert (request["email"], request["message"]) == (EMAIL, "Svalbard?")

    operator.turn(visitor, "person")
    operator.say(visitor, LINE)
    queue = operator.queue()
    assert queue["waiting"]["rows"] == []
    assert [(one["id"], one["line_by"]) for one in queue["person"]["rows"]] == [
        (visitor.session_id, NAME)
    ]


@pytest.mark.slow
async def test_h22_the_longest_wait_is_in_the_queue_of_a_busy_afternoon(
    staged: Staged, request: pytest.FixtureRequest, aws_environment: dict[str, str]
) -> None:
    """On DynamoDB, whose pages are shorter than this queue."""
    running = staged(1, **await settings_with("dynamodb_local", request))
    visitors = [Visitor(running) for _ in range(17)]
    for visitor in visitors:
        await visitor.say("Do you ship to Norway?")
        assert (await send(visitor, new_id())).status_code == 204
    waiting = Operator(running).queue()["waiting"]
    waits = [(row["id"], waiting["cursor"]) for row in reversed(waiting["rows"])]
    assert waits == [(visitor.session_id, None) for visitor in visitors]


async def test_h4_posts_of_the_panel_have_an_effect_once_however_often_they_are_sent(
    staged: Staged,
) -> None:
    running = staged(1, **settings())
    visitor, operator, other = Visitor(running), Operator(running), Operator(running, "Olav")
    await visitor.say("hello")
    early = operator.say(visitor, LINE)
    assert (early.status_code, early.json()["error"]["code"]) == (409, "wrong_state")
    taken = operator.turn(visitor, "person").json()
    assert operator.turn(visitor, "person").json() == taken
    refused = other.turn(visitor, "person")
    assert (refused.status_code, refused.json()["error"]["message"]) == (
        409,
        "Ingrid has this chat.",
    )
    id = new_id()
    assert operator.say(visitor, LINE, id).json() == operator.say(visitor, LINE, id).json()
    quiet = new_id()
    for _ in range(2):
        assert (await visitor.say("for you", client_message_id=quiet)).complete
    shown = [content for _, content, _ in await visitor.shown()]
    assert shown[0] == "hello"
    assert shown[2:] == [LINE, "for you"]
    closed = operator.turn(visitor, "closed").json()
    assert operator.turn(visitor, "closed").json() == closed
    assert (await visitor.say("and now?")).text


async def test_m6_another_operator_neither_writes_nor_hands_back_until_they_take_the_chat(
    staged: Staged,
) -> None:
    running = staged(1, **settings())
    visitor, ingrid, bob = Visitor(running), Operator(running), Operator(running, "Bob")
    await visitor.say("hello")
    ingrid.turn(visitor, "person")
    for refused in (bob.say(visitor, "x"), bob.turn(visitor, "bot"), bob.turn(visitor, "closed")):
        error = refused.json()["error"]
        assert (refused.status_code, error["code"]) == (409, "wrong_state")
        assert error["message"] == "Ingrid has this chat."
    assert (await polled(visitor))["messages"] == []
    for _ in range(2):  # a repetition has no effect
        assert bob.turn(visitor, "person", taken_from=NAME).json()["operator"] == "Bob"
    assert ingrid.say(visitor, "x").json()["error"]["message"] == "Bob has this chat."
    assert bob.say(visitor, LINE).status_code == 200
    [line] = (await polled(visitor))["messages"]
    assert (line["content"], line["operator"]) == (LINE, "Bob")
    assert bob.turn(visitor, "bot").status_code == 200


def signed_in(running: Stage, name: str, *more: str) -> str:
    """A pass, by the link that `kefu admin-link` prints."""
    command = ["admin-link", "--url", running.url, "--name", name, *more]
    ticket = running.service.kefu(*command).stdout.strip().partition("#ticket=")[2]
    entered = as_operator(running, "enter", "POST", token=ticket)
    found: str = entered.raise_for_status().json()["pass"]
    return found


async def test_h24_the_name_of_an_operator_is_that_of_their_link(staged: Staged) -> None:
    """Whatever name is sent. The log says who has read and written."""
    running = staged(1, **settings())
    visitor = Visitor(running)
    ingrid = Operator(running, "", signed_in(running, "Ingrid 客"))
    bob = Operator(running, "Ingrid 客", signed_in(running, "Bob"))
    about = as_operator(running, "about", "GET", token=ingrid.token).json()
    assert (about["operator"], about["site"]) == ("Ingrid 客", "")
    await visitor.say("hello")
    assert ingrid.turn(visitor, "person").json()["operator"] == "Ingrid 客"
    assert bob.say(visitor, "x").json()["error"]["message"] == "Ingrid 客 has this chat."
    assert bob.turn(visitor, "person", taken_from="Ingrid 客").json()["operator"] == "Bob"
    assert bob.say(visitor, LINE).status_code == 200
    [line] = (await polled(visitor))["messages"]
    assert (line["content"], line["operator"]) == (LINE, "Bob")
    kari = Operator(running, "", signed_in(running, "Kari", "--read-only"))
    for refused in (kari.turn(visitor, "person", taken_from="Bob"), kari.say(visitor, "x")):
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "read_only")
    assert kari.ask(visitor, "", method="DELETE").status_code == 403
    assert kari.ask(visitor, "").status_code == 200
    ingrid.ask(visitor, "")
    who = [(one["action"], one["operator"]) for one in running.service.logs() if "action" in one]
    assert who == [
        ("state person", "Ingrid 客"),
        ("state person", "Bob"),
        ("reply", "Bob"),
        ("read", "Kari"),
        ("read", "Ingrid 客"),
    ]


@pytest.mark.parametrize("name", ["x" * 65, "a\nb"])
def test_h24_a_name_that_no_visitor_should_see_makes_no_link(staged: Staged, name: str) -> None:
    running = staged(1, **settings())
    ran = running.service.kefu("admin-link", "--name", name)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "--name has at most 64 characters" in ran.stderr


@pytest.mark.parametrize(
    ("rest", "body", "param"),
    [
        ("/state", {"state": "waiting", "operator": NAME}, "state"),
        ("/state", {"state": "person", "operator": " "}, "operator"),
        ("/state", {"state": "person", "operator": "a\nb"}, "operator"),
        ("/state", {"state": "person", "operator": "x" * 65}, "operator"),
        ("/lines", {"client_message_id": "a" * 8, "operator": NAME, "text": "x" * 4001}, "text"),
        ("/lines", {"client_message_id": "a" * 8, "operator": NAME, "text": " \n"}, "text"),
        ("/lines", {"client_message_id": "a", "operator": NAME, "text": "x"}, "client_message_id"),
    ],
)
async def test_h4_an_invalid_post_of_the_panel_names_its_field(
    staged: Staged, rest: str, body: dict[str, Any], param: str
) -> None:
    running = staged(1, **settings())
    visitor = Visitor(running)
    await visitor.say("hello")
    answer = Operator(running).ask(visitor, rest, body)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)


async def test_h4_only_operators_take_over_and_only_owners_read_lines(staged: Staged) -> None:
    running = staged(1, **settings())
    visitor, operator = Visitor(running), Operator(running)
    await visitor.say("hello")
    operator.turn(visitor, "person")
    url = f"{running.url}/admin/api/sessions/{visitor.session_id}"
    body = {"state": "bot", "operator": NAME}
    line = {"client_message_id": new_id(), "operator": NAME, "text": "x"}
    async with httpx.AsyncClient(timeout=30) as stranger:
        for rest, sent in (("/state", body), ("/lines", line)):
            assert (await stranger.post(url + rest, json=sent)).status_code == 401
            tokens = {"Authorization": f"Bearer {TOKEN}"}
            wrong = await stranger.post(url + rest, content=json.dumps(sent), headers=tokens)
            assert wrong.status_code == 415  # such as a form of another site would send
        assert (await stranger.get(f"{url}/talk")).status_code == 401
    thief = Visitor(running)
    thief.session_id, thief.token = visitor.session_id, "1.x"
    assert (await thief.look("/person")).status_code == 404
    nobody = Visitor(running)
    nobody.session_id = "f" * 32
    assert operator.turn(nobody, "person").status_code == 404
    assert operator.say(nobody, "x").status_code == 404
    assert (await polled(visitor))["state"] == "person"


async def test_h5_each_access_of_an_operator_writes_an_audit_line_without_texts(
    staged: Staged,
) -> None:
    running = staged(1, **settings())
    visitor, operator = Visitor(running), Operator(running, EMAIL)
    await visitor.say("my secret question")
    assert (await send(visitor, new_id())).status_code == 204
    in_panel(running)
    assert operator.ask(visitor, "").status_code == 200
    operator.ask(visitor, "/export?format=md")
    operator.turn(visitor, "person")
    operator.say(visitor, "my secret line")
    assert operator.ask(visitor, "/talk").status_code == 200  # repeated every few seconds
    operator.turn(visitor, "bot")
    assert operator.ask(visitor, "", method="DELETE").status_code == 204
    running.service.stop()
    expected = ["read requests", "read", "export", "state person", "reply", "state bot", "delete"]
    assert audited(running) == expected
    lines = [record for record in running.service.logs() if "action" in record]
    assert {len(record["operator"]) for record in lines} == {12}
    assert {record.get("session_id") for record in lines[1:]} == {visitor.session_id}
    for secret in ("secret question", "secret line", EMAIL, TOKEN):
        assert secret not in running.service.stderr


async def test_h4_a_person_keeps_the_chat_over_a_restart_and_a_new_request(
    staged: Staged,
) -> None:
    running = staged(1, **settings())
    visitor, operator = Visitor(running), Operator(running)
    await visitor.say("hello")
    operator.turn(visitor, "person")
    assert (await send(visitor, new_id())).status_code == 204
    running.service.restart(kill=True)
    assert (await polled(visitor))["state"] == "person"
    calls = len(running.upstream.calls())
    assert (await visitor.say("still there?")).complete
    assert len(running.upstream.calls()) == calls
    assert operator.say(visitor, "Yes.").status_code == 200
