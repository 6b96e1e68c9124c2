"""`kefu chat --server`: a deployed Kefu tried from a terminal, as the widget asks it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.conftest import Kefu
from tests.fakes.behaviours import answer, html_200, status
from tests.fakes.service import Service
from tests.fakes.upstream import ScriptedUpstream


@pytest.fixture
def server(upstream: ScriptedUpstream) -> Iterator[Service]:
    with Service(upstream.base_url, ip_requests_per_minute=4, max_message_chars=100) as running:
        yield running


def test_a_deployed_kefu_is_talked_to(
    kefu: Kefu, upstream: ScriptedUpstream, server: Service
) -> None:
    """By its address or its chat's; with the history, without a system prompt or a tool. What the
    server refuses is told in its own words.
    """
    upstream.script("*", answer("A1"), answer("A2"))
    ran = kefu("chat", "--server", server.url, typed="Q1\nQ2\n")
    assert (ran.code, ran.out) == (0, "A1\nA2\n")
    said = upstream.journal[-1].body["messages"]
    assert [(m["role"], m["content"]) for m in said] == [
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


def test_what_is_no_kefu_is_told(kefu: Kefu, upstream: ScriptedUpstream) -> None:
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
