"""F4, F5, F12: the log and `/health` name the cause of a refusal, for the operator alone."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any
from urllib.request import urlopen

import pytest

from kefu.relay.key_pool import KeyPool
from tests.fakes import behaviours as b
from tests.fakes.asking import Answer
from tests.fakes.fixtures import Staged
from tests.fakes.stage import Stage


async def line_of(running: Stage, answer: Answer) -> dict[str, Any]:
    request_id = answer.headers["X-Request-Id"]
    return await running.service.logged(request_id=request_id, message="request")


def health(running: Stage) -> dict[str, Any]:
    with urlopen(f"{running.url}/health", timeout=30) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


@pytest.mark.parametrize(
    ("limit", "settings"),
    [
        ("address", {"ip_requests_per_minute": 1}),
        ("site", {"site_requests_per_minute": 1}),
        ("budget", {"daily_tokens": 3000}),
    ],
)
async def test_f5_the_log_names_the_limit_that_was_reached(
    staged: Staged, limit: str, settings: dict[str, Any]
) -> None:
    running = staged(1, **settings)
    running.script(
        b.answer(
            "hi", usage={"prompt_tokens": 2800, "completion_tokens": 100, "total_tokens": 2900}
        )
    )
    refused = [await running.ask(), await running.ask()][1]
    line = await line_of(running, refused)
    assert (line["status"], line["limit"]) == (429, limit)


async def test_f5_the_log_says_when_the_providers_limit_was_reached(staged: Staged) -> None:
    running = staged(1)
    running.script(b.status(429))
    line = await line_of(running, await running.ask())
    assert (line["limit"], line["all_keys_cooling"]) == ("keys", True)


async def test_f12_a_refused_key_is_named_in_the_log_and_in_health(staged: Staged) -> None:
    running = staged(1)
    assert health(running)["status"] == "ok"
    running.script(b.status(401))
    answer = await running.ask()
    line = await line_of(running, answer)
    assert (answer.status, line["status"]) == (503, 503)
    assert line["misconfigured"] == ["the upstream refuses an API key"]
    assert line["keys"][0].endswith(":http_401")
    found = health(running)
    assert (found["status"], found["reason"]) == ("degraded", "keys_refused")


@pytest.mark.slow
async def test_r3_the_log_of_a_silent_model_names_patience_and_the_time_waited(
    staged: Staged,
) -> None:
    running = staged(1)
    running.script(b.answer("late", before=20))
    answer = await running.ask()
    line = await line_of(running, answer)
    assert (answer.status, line["code"]) == (504, "gateway_timeout")
    assert line["hint"].startswith("no headers in 4.5 s: ")
    assert 'patience = "slow"' in line["hint"]


async def test_f12_one_accepted_key_is_enough_for_health(staged: Staged) -> None:
    running = staged(2)
    running.script(b.status(401), b.answer("hi"))
    answer = await running.ask()
    assert answer.text == "hi"
    assert "misconfigured" in await line_of(running, answer)
    assert health(running)["status"] == "ok"


def test_f12_a_key_that_is_accepted_again_is_no_longer_refused() -> None:
    pool = KeyPool(["a"])
    [key] = pool.keys
    pool.count_outcome(key.fingerprint, "http_401")
    assert pool.all_refused
    pool.count_outcome(key.fingerprint, "ok")
    assert not pool.all_refused


WRITING = """
import json, sys
from kefu.bootstrap.clock import SystemClock
from kefu.web.log import RequestLog

log = RequestLog(SystemClock(), style="text")
log.open()
log._write(20, "request", {"duration_ms": 3.0, **json.loads(sys.argv[1])})
"""


def text_line(**fields: object) -> str:
    command = [sys.executable, "-c", WRITING, json.dumps(fields)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


@pytest.mark.slow
def test_f12_the_format_of_a_terminal_has_the_cause_of_a_failure() -> None:
    """`make run` writes this format, and a first wrong key is seen there."""
    line = text_line(
        status=503,
        code="upstream_service_unavailable",
        keys=["3f2a9c01b7de:http_401"],
        misconfigured=["the upstream refuses an API key"],
    )
    assert "keys=3f2a9c01b7de:http_401" in line
    assert "misconfigured=the upstream refuses an API key" in line
    assert "limit=budget" in text_line(status=429, code="rate_limit_exceeded", limit="budget")
    assert "origin=http://a.example" in text_line(code="x", origin="http://a.example")
    assert "bot_check=missing" in text_line(code="verification_required", bot_check="missing")
    assert "hint=no headers" in text_line(status=504, code="gateway_timeout", hint="no headers")
    assert "keys" not in text_line(status=200, code="ok", keys=["3f2a9c01b7de:ok"])
