"""P27 to P33, T8, T24, T30: the panel's API, with a service that stores chats."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from kefu.auth.admin_tokens import TICKET_LIFE, AdminTokens
from tests.fakes import behaviours as b
from tests.fakes.chatting import FILE, STORE
from tests.fakes.fixtures import Staged
from tests.fakes.forked import kefu
from tests.fakes.stage import ORIGIN, Stage

TOKEN = "operator-token-5f3c9a7e1b-6d20c81f"
PATHS = ("", "/", "/api/about", "/api/enter", "/api/sessions", "/api/sessions/x", "/panel.js")


@pytest.fixture
def stage(staged: Staged) -> Stage:
    return staged(
        3, environment={"ADMIN_TOKEN": TOKEN}, sessions="true", capture="all", trim_chars=200
    )


@pytest.fixture
def operator(stage: Stage) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=f"{stage.url}/admin/api", headers={"Authorization": f"Bearer {TOKEN}"}
    ) as client:
        yield client


def asked(
    stage: Stage, body: dict[str, str], headers: dict[str, str] | None = None
) -> httpx.Response:
    return httpx.post(f"{stage.url}/api/chat", json=body, headers=headers)


def said(stage: Stage, text: str, session: dict[str, str] | None = None) -> dict[str, str]:
    """Send a message of a stored chat. Returns the headers of its session."""
    headers = {"X-Session-Token": session["x-session-token"]} if session else {}
    body = {"message": text, **({"session_id": session["x-session-id"]} if session else {})}
    answer = asked(stage, body, headers)
    return {name: answer.headers[name] for name in ("x-session-id", "x-session-token")}


def test_p32_without_a_token_there_is_no_panel(staged: Staged) -> None:
    stage = staged(1, sessions="true")
    for path in PATHS:
        for method in ("GET", "POST", "DELETE", "OPTIONS"):
            answer = httpx.request(
                method,
                f"{stage.url}/admin{path}",
                headers={
                    "Authorization": f"Bearer {TOKEN}",
                    "Origin": ORIGIN,
                    "Access-Control-Request-Method": "GET",
                },
            )
            assert answer.status_code == 404, (method, path)


def test_p32_token_that_is_too_short_stops_the_start(staged: Staged) -> None:
    with pytest.raises(AssertionError, match="ADMIN_TOKEN: must have 32 characters or more"):
        staged(1, environment={"ADMIN_TOKEN": "x" * 31})


def test_p32_every_path_of_the_api_wants_the_token_as_bearer(stage: Stage) -> None:
    url = f"{stage.url}/admin/api"
    wrong: list[dict[str, Any]] = [
        {},
        {"headers": {"Authorization": f"Basic {TOKEN}"}},
        {"headers": {"Authorization": f"Bearer {TOKEN}x"}},
        {"headers": {"X-Admin-Token": TOKEN}},
        {"params": {"token": TOKEN}},
        {"cookies": {"token": TOKEN}},
    ]
    for given in wrong:
        answer = httpx.get(f"{url}/about", **given)
        assert answer.status_code == 401, given
        assert answer.json()["error"]["code"] == "unauthorized"
        assert TOKEN not in answer.text
    answer = httpx.get(f"{url}/about", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"


def test_p32_failures_are_rate_limited_and_the_right_token_is_not(stage: Stage) -> None:
    def about(token: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.get(f"{stage.url}/admin/api/about", headers=headers)

    statuses = [about(f"wrong-{n}").status_code for n in range(12)]
    assert statuses == [401] * 10 + [429] * 2
    assert int(about("wrong").headers["retry-after"]) > 1
    assert about(TOKEN).status_code == 200


def test_p32_no_other_page_may_read_it(operator: httpx.Client) -> None:
    answer = operator.get("/about", headers={"Origin": ORIGIN})
    assert "access-control-allow-origin" not in answer.headers
    preflight = operator.options(
        "/about", headers={"Origin": ORIGIN, "Access-Control-Request-Method": "GET"}
    )
    assert preflight.status_code == 405
    assert "access-control-allow-origin" not in preflight.headers


def entered(stage: Stage, bearer: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {bearer}"}
    return httpx.post(f"{stage.url}/admin/api/enter", headers=headers)


def test_p32_t18_a_link_opens_the_panel_once_without_the_token(
    stage: Stage, operator: httpx.Client
) -> None:
    """H15: a pass gives no second pass."""
    printed = stage.service.kefu("admin-link", "--url", f"{stage.url}/")
    address, _, ticket = printed.stdout.strip().partition("#ticket=")
    assert address == f"{stage.url}/admin"
    assert TOKEN not in printed.stdout
    assert operator.get("/keys", headers={"Authorization": f"Bearer {ticket}"}).status_code == 401
    first, second = entered(stage, ticket), entered(stage, ticket)
    assert (first.status_code, second.status_code) == (200, 401)
    given = first.json()["pass"]
    assert TOKEN not in given
    headers = {"Authorization": f"Bearer {given}"}
    assert operator.get("/keys", headers=headers).status_code == 200
    assert entered(stage, given).status_code == 401, "a pass renewed itself"
    assert entered(stage, TOKEN).status_code == 200
    late = AdminTokens(TOKEN).ticket("late", time.time() - TICKET_LIFE)
    others = AdminTokens("x" * 32).ticket("other", time.time())
    assert [entered(stage, one).status_code for one in (late, others, ticket[:-1])] == [401] * 3


def test_p32_admin_link_without_a_token_names_the_setting(tmp_path: Path) -> None:
    ran = kefu("admin-link", folder=tmp_path, environment={"HOME": str(tmp_path)})
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "ADMIN_TOKEN" in ran.stderr


def test_p27_sessions_come_newest_first_page_by_page_and_filtered(
    stage: Stage, operator: httpx.Client
) -> None:
    stage.script(b.answer("fine"), asking="<good>")
    stage.script(b.status(500), asking="<bad>")
    good = [said(stage, f"<good> {number}") for number in range(3)]
    bad = asked(stage, {"message": "<bad>"})
    first = operator.get("/sessions", params={"limit": 2}).json()
    rest = operator.get("/sessions", params={"limit": 2, "cursor": first["cursor"]}).json()
    rows = [*first["rows"], *rest["rows"]]
    assert rest["cursor"] is None
    ids = [bad.headers["x-session-id"], *(one["x-session-id"] for one in reversed(good))]
    assert [row["id"] for row in rows] == ids
    assert [(row["title"], row["turns"], row["errors"], row["status"]) for row in rows] == [
        ("<bad>", 1, 1, "failed"),
        *((f"<good> {number}", 1, 0, "ok") for number in (2, 1, 0)),
    ]
    assert all(row["tokens"] > 0 for row in rows[1:])

    def found(**wanted: object) -> list[str]:
        page = operator.get("/sessions", params={k: str(v) for k, v in wanted.items()}).json()
        return [row["id"] for row in page["rows"]]

    assert found(has_error="true") == found(status="failed") == ids[:1]
    assert found(has_error="false") == ids[1:]
    assert found(since=rows[1]["updated_at"]) == ids[:2]
    assert found(until=rows[2]["updated_at"]) == ids[3:]
    for wrong in ({"status": "x"}, {"has_error": "1"}, {"since": "nan"}, {"cursor": "x"}):
        answer = operator.get("/sessions", params=wrong)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request")


def test_p28_a_session_shows_sent_and_dropped_messages(
    stage: Stage, operator: httpx.Client
) -> None:
    """T18: the body is the one that was sent, except that secrets are replaced."""
    stage.script(b.answer("one"), b.answer("two"))
    session = said(stage, "a" * 150)
    said(stage, "b" * 100, session)
    shown = operator.get(f"/sessions/{session['x-session-id']}").json()
    assert [(m["role"], m["content"][:3], m["status"]) for m in shown["messages"]] == [
        ("user", "aaa", "ok"),
        ("assistant", "one", "ok"),
        ("user", "bbb", "ok"),
        ("assistant", "two", "ok"),
    ]
    assert shown["before"] is None
    first, second = shown["calls"]
    assert second["request"].encode() == stage.upstream.journal[-1].raw_body
    assert second["message_id"] == shown["messages"][2]["id"]
    assert second["response"]["choices"][0]["message"]["content"] == "two"
    assert second["meta"]["attempts"][0]["outcome"] == "ok"
    assert re.fullmatch("[0-9a-f]{12}", second["meta"]["attempts"][0]["key"])
    assert second["meta"]["trimmed"]["dropped"] == 2
    assert first["meta"]["trimmed"]["dropped"] == 0
    assert (second["finish_reason"], second["stream_complete"]) == ("stop", True)
    assert 0 <= second["ttft"] <= second["duration"]
    assert operator.get("/sessions/unknown").status_code == 404


def test_m6_a_damaged_record_is_named_and_its_chat_is_shown(staged: Staged) -> None:
    stage = staged(1, environment={"ADMIN_TOKEN": TOKEN}, store=STORE, capture="all")
    session = said(stage, "hello")
    said(stage, "and then?", session)
    with contextlib.closing(sqlite3.connect(stage.service.folder / FILE)) as db, db:
        assert db.execute("UPDATE calls SET record = x'00' WHERE message = 1").rowcount == 1
    headers = {"Authorization": f"Bearer {TOKEN}"}
    url = f"{stage.url}/admin/api/sessions/{session['x-session-id']}"
    damaged, whole = httpx.get(url, headers=headers).json()["calls"]
    assert damaged["meta"] == {"damaged": "This record is damaged: it cannot be read."}
    assert whole["request"]
    for form in ("json", "jsonl", "md"):
        export = httpx.get(f"{url}/export?format={form}", headers=headers)
        assert (export.status_code, "record is damaged" in export.text) == (200, True)


def test_p30_keys_are_fingerprints_with_cooldowns_and_counts(
    stage: Stage, operator: httpx.Client
) -> None:
    stage.script(b.status(429), b.status(500), b.answer("at last"))
    said(stage, "hello")
    answer = operator.get("/keys")
    assert not any(key in answer.text for key in stage.keys)
    keys = answer.json()["keys"]
    assert sorted((k["status"], k["rate_limited"], k["failing"]) for k in keys) == [
        ("active", 0, 0),
        ("cooldown", 0, 1),
        ("cooldown", 1, 0),
    ]
    assert all(30 < k["seconds_left"] <= 60 for k in keys if k["status"] == "cooldown")


def test_p30_key_that_fails_without_a_cooldown_is_shown_as_failing(
    stage: Stage, operator: httpx.Client
) -> None:
    stage.script(b.reset_at_once, b.answer("at last"))
    said(stage, "hello")
    keys = operator.get("/keys").json()["keys"]
    assert sorted(key["status"] for key in keys) == ["active", "active", "failing"]
    [failing] = [key for key in keys if key["status"] == "failing"]
    assert failing["outcomes"] == {"unreachable": 1}
    assert 0 < failing["seconds_left"] <= 30


def test_p30_text_of_a_refusal_is_shown_with_its_attempt(
    stage: Stage, operator: httpx.Client
) -> None:
    """H14: the upstream's text contains the key, which is replaced."""
    echo = {"error": {"message": f"wrong key {stage.keys[0]}", "code": "invalid_api_key"}}
    stage.script(b.status(401, echo), b.answer("at last"))
    session = said(stage, "hello")["x-session-id"]
    shown = operator.get(f"/sessions/{session}")
    refused, answered = shown.json()["calls"][0]["meta"]["attempts"]
    assert "wrong key [key]" in refused["said"]
    assert "said" not in answered
    assert not any(key in shown.text for key in stage.keys)


def test_p31_export_and_delete(stage: Stage, operator: httpx.Client) -> None:
    stage.script(b.answer("kept"))
    visitor = said(stage, "keep this")
    session = visitor["x-session-id"]

    def export(name: str) -> httpx.Response:
        return operator.get(f"/sessions/{session}/export", params={"format": name})

    whole = export("json").json()
    lines = [json.loads(line) for line in export("jsonl").text.splitlines()]
    assert [line["type"] for line in lines] == ["session", "message", "call", "message"]
    assert lines[2] == {"type": "call", **whole["calls"][0]}
    read = export("md").text
    for part in (f"# Session {session}", "```text\nkeep this\n```", "### Call 1 for message 1"):
        assert part in read, part
    assert '"content": "keep this"' in read.partition("\nSent:\n")[2].partition("Came back")[0]
    assert '"content": "kept"' in read.partition("\nCame back:\n")[2].partition("Error")[0]
    assert "attachment" in export("md").headers["content-disposition"]
    stage.script(b.answer("half \ud83d"))
    said(stage, "and half a character", visitor)
    answer = operator.get(f"/sessions/{session}").json()["calls"][1]["response"]
    assert answer["choices"][0]["message"]["content"] == "half \ud83d"
    assert all("half" in export(name).text for name in ("json", "jsonl", "md"))
    assert export("xml").status_code == 400
    assert operator.delete(f"/sessions/{session}").status_code == 204
    assert operator.get(f"/sessions/{session}").status_code == 404
    assert operator.get("/sessions").json()["rows"] == []


def test_p28_days_sum_up_the_turns(stage: Stage, operator: httpx.Client) -> None:
    stage.script(b.answer("fine"), b.status(400))
    said(stage, "one")
    asked(stage, {"message": "two"})
    (day,) = operator.get("/days").json()["days"]
    assert (day["turns"], day["errors"]) == (2, 1)
    assert day["prompt_tokens"] > 0
    assert operator.get("/days", params={"since": "yesterday"}).status_code == 400
    assert operator.get("/days", params={"until": "2020-01-01"}).json() == {"days": []}


def test_p32_without_kept_chats_the_keys_are_still_shown(staged: Staged) -> None:
    stage = staged(1, environment={"ADMIN_TOKEN": TOKEN}, sessions="false")
    headers = {"Authorization": f"Bearer {TOKEN}"}
    about = httpx.get(f"{stage.url}/admin/api/about", headers=headers).json()
    assert about["keeps_chats"] is False
    assert httpx.get(f"{stage.url}/admin/api/sessions", headers=headers).status_code == 404
    assert len(httpx.get(f"{stage.url}/admin/api/keys", headers=headers).json()["keys"]) == 1


def test_p28_a_call_knows_its_prompt_by_kefus_own_count_and_the_models_window(
    staged: Staged,
) -> None:
    """The panel shows the tokens of a prompt also if trimming counts characters, as by default."""
    stage = staged(
        1, environment={"ADMIN_TOKEN": TOKEN}, sessions="true", model="gpt-4", trim_chars=200
    )
    session = said(stage, "你好，" * 20)["x-session-id"]
    headers = {"Authorization": f"Bearer {TOKEN}"}
    shown = httpx.get(f"{stage.url}/admin/api/sessions/{session}", headers=headers).json()
    local = shown["calls"][0]["meta"]["local"]
    assert (local["window"], local["strategy"]) == (8192, "v1")
    assert 20 < local["prompt"] < 100


def test_m1_a_store_that_fails_is_503_in_the_panel_with_a_sentence(
    staged: Staged, tmp_path: Path
) -> None:
    """It was 500, with a traceback in the log."""
    file = tmp_path / "kefu.sqlite3"
    environment = {"ADMIN_TOKEN": TOKEN}
    stage = staged(1, environment=environment, sessions="true", store=f"sqlite:///{file}")
    said(stage, "question")
    file.write_bytes(b"no database" * 999)
    answer = httpx.get(
        f"{stage.url}/admin/api/sessions", headers={"Authorization": f"Bearer {TOKEN}"}
    )
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (503, "upstream_service_unavailable")
    assert error["message"] == "The store of chats does not answer. Try again."
