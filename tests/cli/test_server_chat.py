"""`kefu chat --server` sends requests to a deployed Kefu, as the widget does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kefu.auth.admin_tokens import COMMAND_LIFE, AdminTokens
from tests.cli.conftest import Kefu
from tests.fakes.behaviours import answer, html_200, status
from tests.fakes.browser import told_by
from tests.fakes.service import Service
from tests.fakes.siteverify import SECRET, SiteVerify
from tests.fakes.stranger import Stranger
from tests.fakes.upstream import ScriptedUpstream


@pytest.fixture
def server(upstream: ScriptedUpstream) -> Iterator[Service]:
    with Service(upstream.base_url, ip_requests_per_minute=4, max_message_chars=100) as running:
        yield running


def test_a_deployed_kefu_is_talked_to(
    kefu: Kefu, upstream: ScriptedUpstream, server: Service
) -> None:
    """By its address or its chat's, in a stored chat, without a tool. The server's errors are shown
    in its own words.
    """
    upstream.script("*", answer("A1"), answer("A2"))
    ran = kefu("chat", "--server", server.url, typed="Q1\nQ2\n")
    assert (ran.code, ran.out) == (0, "A1\nA2\n")
    sent = upstream.journal[-1].body["messages"]
    assert [(m["role"], m["content"]) for m in sent if m["role"] != "system"] == [
        ("user", "Q1"),
        ("assistant", "A1"),
        ("user", "Q2"),
    ]
    once = ["chat", "--once", "--no-log", "--server"]
    assert kefu(*once, f"{server.url}/api/chat", "Q3").out == "A2\n"
    ran = kefu(*once, server.url, "x" * 101)
    assert ran.code == 1
    assert "HTTP 400, invalid_request" in ran.err
    ran = kefu(*once, f"{server.url}/nowhere", "Q4")
    assert ran.code == 1
    assert "HTTP 404" in ran.err
    kefu(*once, server.url, "Q5")
    ran = kefu(*once, server.url, "Q6")
    assert ran.code == 1
    assert "HTTP 429, rate_limit_exceeded" in ran.err


def test_a_script_waits_as_long_as_the_server_says(kefu: Kefu, upstream: ScriptedUpstream) -> None:
    """The refused question is reported as an error. The next one is sent when the server
    allows it.
    """
    limited = b'{"error": {"code": "rate_limit_exceeded", "message": "Later."}}'
    upstream.script("*", status(429, limited, {"Retry-After": "1"}), answer("A2"))
    ran = kefu("chat", "--no-log", "--server", f"{upstream.base_url}/chat", typed="Q1\nQ2\n")
    assert (ran.code, ran.out) == (1, "A2\n")
    assert "HTTP 429, rate_limit_exceeded" in ran.err
    assert "waiting 1 s before" in ran.err


def test_a_server_that_is_no_kefu_is_reported(kefu: Kefu, upstream: ScriptedUpstream) -> None:
    once = ["chat", "--once", "--no-log", "--server"]
    ran = kefu(*once, "http://127.0.0.1:1", "x")
    assert (ran.code, ran.out) == (1, "")
    assert "http://127.0.0.1:1 cannot be reached" in ran.err
    upstream.script("*", html_200(), status(503, b"<html>"))
    ran = kefu(*once, f"{upstream.base_url}/chat", "x")
    assert ran.code == 1
    ran = kefu(*once, f"{upstream.base_url}/chat", "x")
    assert ran.code == 1
    assert "not one of Kefu's. (HTTP 503)" in ran.err
    for address in ("chat.example.com", "ftp://chat.example.com", "http://"):
        ran = kefu(*once, address, "x")
        assert ran.code == 2
        assert "is not an address such as https://" in ran.err


@pytest.mark.slow
def test_a_server_gets_from_the_terminal_the_requests_of_the_widget(
    kefu: Kefu, upstream: ScriptedUpstream
) -> None:
    """In Chromium and in the terminal, two questions each: the model receives the same bytes."""
    with Service(upstream.base_url, sessions="true", system_prompt="Be kind.") as running:
        told_by(Path(__file__).with_name("widget_asks.mjs"), running.url, timeout=120)
        chat = ["chat", "--no-log", "--origin", "https://shop.example", "--server", running.url]
        assert kefu(*chat, typed="Wann?\nDo you ship to Norway? 🎁\n").code == 0
    widget, terminal = upstream.journal[:2], upstream.journal[2:]
    assert [call.raw_body for call in terminal] == [call.raw_body for call in widget]
    assert len(terminal[1].body["messages"]) == 4, "system prompt, question, answer, question"


def test_turns_that_were_removed_are_not_in_the_next_request(
    kefu: Kefu, upstream: ScriptedUpstream
) -> None:
    with Service(upstream.base_url, sessions="true") as running:
        chat = ["chat", "--no-log", "--server", running.url]
        assert kefu(*chat, typed="Q1\nQ2\n/undo\nQ3\n/clear\nQ4\n").code == 0
    asked = [
        [m["content"] for m in call.body["messages"] if m["role"] == "user"]
        for call in upstream.journal
    ]
    assert asked == [["Q1"], ["Q1", "Q2"], ["Q1", "Q3"], ["Q4"]]


def test_the_operators_token_passes_the_bot_check(
    kefu: Kefu, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = "operator-token-5f3c9a7e1b-6d20c81f"
    with (
        SiteVerify() as provider,
        Service(
            upstream.base_url,
            environment={"ADMIN_TOKEN": operator},
            bot_check="turnstile",
            bot_check_secret=SECRET,
            bot_check_url=provider.url,
        ) as running,
    ):
        chat = ["chat", "--once", "--no-log", "--server", running.url, "Q1"]
        ran = kefu(*chat)
        assert ran.code == 1
        assert "verification_required" in ran.err
        monkeypatch.setenv("ADMIN_TOKEN", "x" * 40)
        assert "HTTP 401, unauthorized" in kefu(*chat).err
        monkeypatch.setenv("ADMIN_TOKEN", operator)
        assert kefu(*chat).code == 0
        assert provider.asked == []


@pytest.mark.parametrize(
    ("command", "opens_panel"),
    [
        (["chat", "--once", "--no-log", "Q1"], False),
        (["test", "questions.jsonl"], False),
        (["tail", "--once"], True),
    ],
)
def test_s8_a_strange_server_never_gets_the_operators_token(
    kefu: Kefu, monkeypatch: pytest.MonkeyPatch, command: list[str], opens_panel: bool
) -> None:
    """S8: an old address in CI gave the panel away for good."""
    operator = "operator-token-5f3c9a7e1b-6d20c81f"
    monkeypatch.setenv("ADMIN_TOKEN", operator)
    Path("questions.jsonl").write_text('{"ask": "Q1", "expect": {"contains": "x"}}\n')
    with Stranger() as stranger:
        kefu(*command, "--server", stranger.address)
    bearers = [bearer for _, bearer in stranger.got if bearer]
    assert bearers
    assert not [bearer for bearer in bearers if operator in bearer]
    tokens = AdminTokens(operator)
    for bearer in bearers:
        text = bearer.removeprefix("Bearer ")
        assert tokens.admits(text, time.time()) is opens_panel
        assert not tokens.admits_check(text, time.time() + COMMAND_LIFE)


@pytest.mark.parametrize("flag", ["--origin", "--user-token"])
def test_flags_of_a_server_need_one(kefu: Kefu, flag: str) -> None:
    ran = kefu("chat", "--once", flag, "x", "Q1")
    assert ran.code == 2
    assert "for --server" in ran.err
