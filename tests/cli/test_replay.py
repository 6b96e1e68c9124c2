"""H10: `kefu replay` asks questions of the past again, `kefu tail` shows those of now."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from kefu.sessions.store.model import (
    CallRecord,
    NewMessage,
    Retention,
    Session,
    SessionId,
    TurnOutcome,
)
from kefu.stores.sqlite.store import SqliteStore
from tests.cli.conftest import Kefu
from tests.fakes.behaviours import answer, chunk, chunks, status
from tests.fakes.chatting import FILE, STORE
from tests.fakes.service import Service
from tests.fakes.upstream import ScriptedUpstream

OPERATOR = "operator-token-5f3c9a7e1b-6d20c81f"


@pytest.fixture
def server(upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setenv("ADMIN_TOKEN", OPERATOR)
    environment = {"ADMIN_TOKEN": OPERATOR}
    with Service(
        upstream.base_url, environment=environment, sessions="true", capture="all"
    ) as running:
        yield running


def said(server: Service, message: str, rating: str = "") -> str:
    """Ask in a new chat, and rate the answer. Returns the chat's id."""
    mark = message.replace(" ", "-")
    body = {"message": message, "client_message_id": mark}
    headers = httpx.post(f"{server.url}/api/chat", json=body).headers
    name = headers["x-session-id"]
    if rating:
        token = {"X-Session-Token": headers["x-session-token"]}
        rated = {"client_message_id": mark, "rating": rating, "session_id": name}
        reply = httpx.post(f"{server.url}/api/chat/feedback", json=rated, headers=token)
        assert reply.status_code == 204
    return name


def test_an_unchanged_session_is_asked_again_byte_by_byte(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    """With the results of its tools, which are not called again."""
    upstream.script(
        "*",
        answer('<action tool="calculate">6*7</action>'),
        answer("<final>42</final>", usage={"prompt_tokens": 7, "completion_tokens": 2}),
        answer("Bern."),
        answer("<final>It is 42.</final>", usage={"prompt_tokens": 9, "completion_tokens": 4}),
    )
    assert kefu("chat", typed="6*7?\nCapital of Switzerland?\n").code == 0
    (log,) = (folder / "history").iterdir()
    ran = kefu("replay", log.stem[-8:], "--json")
    assert ran.code == 0, ran.err
    sent = [call.raw_body for call in upstream.journal]
    assert sent[3:] == sent[1:3], "the last request of each turn"
    first = json.loads(ran.out.splitlines()[0])
    assert first["question"] == "6*7?"
    assert first["before"] == {"answer": "42", "usage": {"prompt": 7, "completion": 2}}
    assert first["now"]["answer"] == "It is 42."
    assert kefu("replay", str(log)).code == 0


def test_a_session_in_another_folder_is_asked_again(kefu: Kefu, upstream: ScriptedUpstream) -> None:
    kefu("chat", "--once", "--log-dir", "kept", "Capital?")
    [line] = kefu("sessions", "list", "--log-dir", "kept").out.splitlines()
    ran = kefu("replay", line.split()[0], "--log-dir", "kept")
    assert ran.code == 0, ran.err
    first, again = upstream.journal
    assert first.raw_body == again.raw_body


def test_another_prompt_keeps_the_rules_for_tools(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.script(
        "*",
        answer("Paris."),
        answer("Lyon.", usage={"prompt_tokens": 1000, "completion_tokens": 1}),
    )
    monkeypatch.setenv("KEFU_PRICES", "2,4")
    kefu("chat", "--once", "--system", "Be brief.", "Capital?")
    (folder / "new.md").write_text("Be long.")
    (log,) = (folder / "history").iterdir()
    ran = kefu("replay", str(log), "--system", "@new.md", "--model", "other")
    assert ran.code == 0, ran.err
    old, new = (call.body for call in upstream.journal)
    assert (old["messages"][0]["content"].replace("Be brief.", "Be long.")) == new["messages"][0][
        "content"
    ]
    assert "use a tool" in new["messages"][0]["content"]
    assert (new["model"], new["messages"][1:]) == ("other", old["messages"][1:])
    assert "Paris." in ran.out
    assert "Lyon." in ran.out
    assert "now:    1000 + 1 tokens, cost 0.002004" in ran.out


def test_stored_chats_are_asked_again_and_those_rated_down_alone(
    kefu: Kefu, upstream: ScriptedUpstream, server: Service
) -> None:
    good = said(server, "good question", "up")
    said(server, "bad question", "down")
    ran = kefu("replay", "--rated-down", "--server", server.url, "--json")
    assert ran.code == 0, ran.err
    [line] = ran.out.splitlines()
    assert json.loads(line)["question"] == "bad question"
    assert kefu("replay", good, "--server", server.url, "--json").code == 0
    sent = [call.raw_body for call in upstream.journal]
    assert sent == [sent[0], sent[1], sent[1], sent[0]]


def called(*calls: tuple[str, str], text: str = "") -> dict[str, object]:
    """A message with calls of tools, as the model sends it."""
    functions = [
        {"index": n, "id": f"c{n}", "type": "function", "function": {"name": a, "arguments": b}}
        for n, (a, b) in enumerate(calls)
    ]
    return {"role": "assistant", "content": text, "tool_calls": functions}


STATUS, STOCK = ("order_status", '{"order_id": "5", "all": true}'), ("stock", "{}")
CANCEL = ("cancel_order", '{"order_id": "5"}')


async def with_tools(server: Service) -> tuple[str, list[bytes]]:
    """A stored chat with a turn of three requests, tried twice. Returns its id and the requests."""
    name, now = SessionId("a" * 32), time.time()
    bodies = [b'{"model":"m","messages":[],"step":%d}' % number for number in range(3)]
    messages = called(STATUS, STOCK), called(CANCEL, text="It was sent."), {"content": "Done."}
    store = SqliteStore(server.folder / FILE, time.time)
    chats = store.sessions(Retention())
    asked = NewMessage("Cancel order 5", "a")
    begun = await chats.begin(Session(name, "5", "default", now, now), asked, now)
    await chats.finish(name, begun.message.id, TurnOutcome("failed"), now)
    begun = await chats.begin(Session(name, "5", "default", now, now), asked, now)
    await chats.finish(name, begun.message.id, TurnOutcome("ok", "Done."), now, begun.retries)
    call = CallRecord(
        *(name, begun.message.id, 1, 1, now, b'{"first":"try"}', None, "{}", "stop"),
        *(False, 0.2, 1.0, None),
    )
    await chats.record(call)
    aside = call._replace(number=150, meta='{"again":1,"purpose":"search"}')
    too_long = call._replace(number=101, error='{"code":"context_length_exceeded"}')
    for one in (aside, too_long._replace(meta='{"again":1}')):
        await chats.record(one)
    for number, (body, message) in enumerate(zip(bodies, messages, strict=True)):
        response = json.dumps({"choices": [{"message": message}]})
        again = call._replace(number=102 + number, request=body, meta='{"again":1}')
        await chats.record(again._replace(response=response))
    await store.aclose()
    return name, bodies


def test_a17_each_request_of_a_turn_with_tools_is_sent_and_its_calls_are_compared(
    kefu: Kefu, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By name and arguments, in any order. No tool runs, and results are those of the record."""
    monkeypatch.setenv("ADMIN_TOKEN", OPERATOR)
    environment = {"ADMIN_TOKEN": OPERATOR}
    same = called(STOCK, ("order_status", '{"all":true,"order_id":"5"}'))
    replies = [
        chunks(chunk(same), chunk({}, finish="tool_calls")),
        answer("I have cancelled it."),
        answer("Done."),
    ]
    upstream.script("*", *replies, *replies)
    with Service(
        upstream.base_url, environment=environment, sessions="true", store=STORE
    ) as server:
        name, bodies = asyncio.run(with_tools(server))
        ran = kefu("replay", name, "--server", server.url, "--json")
        shown = kefu("replay", name, "--server", server.url)
    assert (ran.code, shown.code) == (0, 0), ran.err + shown.err
    assert [one.raw_body for one in upstream.journal] == [*bodies, *bodies]
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert [line["place"] for line in lines] == [f"{name}:1:{number}" for number in (1, 2, 3)]
    assert [line.get("same_calls") for line in lines] == [True, False, None]
    assert lines[1]["before"]["calls"] == [dict(zip(("name", "arguments"), CANCEL, strict=True))]
    assert (lines[1]["before"]["answer"], lines[1]["now"]["calls"]) == ("It was sent.", [])
    assert lines[2]["before"] == {"answer": "Done.", "usage": None}
    assert "cancel_order" in shown.out
    assert "other calls" in shown.out
    assert "calls:  the same in 1 of 2 answers with calls of tools" in shown.out


def test_an_answer_that_fails_is_shown_and_the_others_are_asked(
    kefu: Kefu, upstream: ScriptedUpstream
) -> None:
    upstream.script("*", answer("A"), answer("B"), status(400), answer("B2"))
    kefu("chat", typed="Q1\nQ2\n")
    (log,) = Path("history").iterdir()
    ran = kefu("replay", str(log), "--json")
    assert ran.code == 1
    first, second = map(json.loads, ran.out.splitlines())
    assert first["now"]["error"]
    assert second["now"]["answer"] == "B2"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name a session"),
        (["--rated-down"], "for --server"),
        (["x", "--rated-down", "--server", "http://127.0.0.1:1"], "name a session"),
        (["x", "--server", "http://127.0.0.1:1"], "ADMIN_TOKEN"),
        (["nothing"], "there is no session"),
    ],
)
def test_a_wrong_replay_says_what_is_missing(arguments: list[str], says: str, kefu: Kefu) -> None:
    ran = kefu("replay", *arguments)
    assert ran.code == 2
    assert says in ran.err


def test_tail_prints_chats_and_filters_them(
    kefu: Kefu, upstream: ScriptedUpstream, server: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.script("*", answer("Yes.\x1b[31m"))
    upstream.script("*", status(400), asking="broken")
    said(server, "first question", "down")
    httpx.post(f"{server.url}/api/chat", json={"message": "broken question"})
    tail = ["tail", "--once", "--server", server.url]
    ran = kefu(*tail)
    assert ran.code == 0, ran.err
    assert "visitor  first question" in ran.out
    assert "answer   Yes." in ran.out
    assert "\x1b" not in ran.out
    errors = [json.loads(line) for line in kefu(*tail, "--errors", "--json").out.splitlines()]
    assert [one["content"] for one in errors] == ["broken question"]
    assert errors[0]["status"] == "failed"
    rated = kefu(*tail, "--rated-down").out
    assert "rated down" in rated
    assert "broken" not in rated
    monkeypatch.setenv("ADMIN_TOKEN", "x" * 40)
    ran = kefu(*tail)
    assert (ran.code, "unauthorized" in ran.err) == (2, True)
