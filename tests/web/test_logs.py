"""C20, T18, T19: one JSON line for each request, without secrets."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kefu.bootstrap.clock import SystemClock
from kefu.relay.key_pool import fingerprint
from kefu.settings import load
from kefu.web.log import RequestLog
from kefu.web.request_record import Record
from tests.fakes import behaviours as b
from tests.fakes.asking import Answer, conversation
from tests.fakes.fixtures import Staged
from tests.fakes.raw_client import exchange, request
from tests.fakes.stage import Stage, api_keys


async def line_of(running: Stage, answer: Answer) -> dict[str, Any]:
    request_id = answer.headers["X-Request-Id"]
    return await running.service.logged(request_id=request_id, message="request")


async def test_c20_request_is_one_line_with_its_numbers(shared: Stage, question: str) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    shared.script(b.status(429), b.answer("hi", usage=usage), asking=question)
    answer = await shared.ask(question)
    line = await line_of(shared, answer)
    assert (line["status"], line["attempts"], line["tokens"], line["trimmed"]) == (200, 2, 7, 0)
    assert line["path"] == "/api/chat"
    assert 0 < line["ttft_ms"] <= line["duration_ms"] < 60_000
    used = [fingerprint(key) for key in shared.upstream.keys(question)]
    assert [key in repr(line["keys"]) for key in used] == [True, True]
    lines = [one for one in shared.service.logs() if one.get("request_id") == line["request_id"]]
    assert len(lines) == 1
    assert question not in json.dumps(lines)


@pytest.mark.slow
async def test_c20_errors_and_trimming_are_in_the_line(shared: Stage, question: str) -> None:
    long = await shared.ask(conversation("x" * 4000, "y" * 4000, question))
    assert (await line_of(shared, long))["trimmed"] == 2
    refused = await line_of(shared, await shared.ask(b"{}"))
    assert (refused["status"], refused["code"]) == (400, "invalid_request")
    shared.script(b.stall_after(1), asking=question + "stall")
    broken = await line_of(shared, await shared.ask(question + "stall"))
    assert (broken["status"], broken["code"]) == (200, "gateway_timeout")


async def test_c20_whole_answer_is_ok_though_its_budget_is_settled_after_it(
    staged: Staged, tmp_path: Path
) -> None:
    """The ASGI server reports a disconnect as soon as the response is complete. It is no
    failure.
    """
    running = staged(1, store=f"sqlite:///{tmp_path}/kefu.sqlite3", daily_tokens=100_000)
    for _ in range(5):
        line = await line_of(running, await running.ask())
        assert (line["status"], line["code"]) == (200, "ok")


async def test_c20_text_is_logged_at_debug_alone(staged: Staged) -> None:
    running = staged(1, log_level="DEBUG")
    assert (await running.ask("CANARY-QUESTION")).complete
    assert "CANARY-QUESTION" in repr(await running.service.logged(message="messages"))
    quiet = staged(1)
    await line_of(quiet, await quiet.ask("CANARY-QUESTION"))
    assert "CANARY-QUESTION" not in quiet.service.stderr


async def test_t19_control_characters_forge_no_log_line(staged: Staged) -> None:
    running = staged(1, log_level="DEBUG")
    forged = '{"level":"INFO","message":"forged"}'
    text = f'x\r\n{forged}\n\x1b[31m\x9b31m\u2028{forged}"'
    answer = await running.ask(text, headers={"User-Agent": f"x {forged}"})
    assert answer.complete
    bent = request(body=conversation("x"), headers={"User-Agent": "x\x1b[31m\x9b31m"})
    await exchange(running.url, bent)
    path = request(f"/nothing%0d%0a{forged}%1b[31m", method="GET").replace(b" HTTP", b" HTTP")
    await exchange(running.url, path.replace(b'"', b"%22"))
    assert "forged" in repr(await running.service.logged(message="messages"))
    records = running.service.logs()
    assert all(record.get("message") != "forged" for record in records)
    raw = running.service.stderr
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", raw)


def bytes_in(folder: Path) -> bytes:
    return b"".join(part.read_bytes() for part in folder.iterdir())


async def test_t18_no_key_leaves_whatever_the_upstream_does_with_it(
    staged: Staged, tmp_path: Path
) -> None:
    """The upstream repeats the key in errors, bodies, headers and streams. The log level is DEBUG
    and the store a file. `Stage` searches all answers and all output for keys.
    """
    running = staged(
        12, log_level="DEBUG", store=f"sqlite:///{tmp_path}/store.sqlite3", daily_tokens=10**9
    )
    everything = " ".join(f"Bearer {key}" for key in running.keys)
    error = {"error": {"message": f"bad key {everything}", "code": everything, "type": everything}}
    said = {"X-Echo": everything, "Retry-After": everything, "Set-Cookie": everything}
    running.script(
        b.status(400, error, said),
        b.status(404, everything.encode(), said),
        b.status(401, error, said),
        b.answer("fine"),
        b.in_band_error(400, message=everything),
        b.in_band_error(500, after=2, message=everything),
        b.in_band_error(everything, after=2),
        b.chunks(b.chunk({"content": f"your key is {everything}"}), b.chunk({}, finish="stop")),
        b.status(418, error, said),
    )
    answers = [await running.ask(conversation(f"Hello {n}")) for n in range(9)]
    assert {answer.status for answer in answers} <= {200, 400, 503}
    assert answers[2].text == "fine"
    stored = bytes_in(tmp_path)
    assert b"tokens:" in stored
    assert not [key for key in running.keys if key.encode() in stored]


async def test_t18_keys_that_a_visitor_knows_are_redacted_by_value(staged: Staged) -> None:
    """At level DEBUG the log has texts. Strings that look like a credential are replaced, too."""
    running = staged(2, log_level="DEBUG")
    answer = await running.ask(
        f"{running.keys[1]} Bearer abc.DEF-123_ghi/jkl+mno= sk-someoneelses-key-0123 {'x' * 9}"
    )
    assert answer.complete
    assert "x" * 9 in repr(await running.service.logged(message="messages"))
    assert "abc.DEF-123" not in running.service.stderr
    assert "sk-someoneelses-key" not in running.service.stderr


def test_t18_settings_do_not_show_their_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGCAT_API_KEYS", "sk-canary-1,sk-canary-2")
    settings = load()
    assert settings.keys == ("sk-canary-1", "sk-canary-2")
    assert "canary" not in f"{settings!r} {settings} {settings.model_dump_json()}"


def test_c20_each_level_of_the_store_is_a_line_with_a_metric(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Alarms watch `store_full`: 1 while chats are refused, 0 when there is space again."""
    log = RequestLog(SystemClock(), metrics="function")
    for level in ("no_bodies", "no_new_chats", "full", "ok"):
        log.store_level(level)
    seen = [vars(record)["fields"] for record in caplog.records]
    assert [one["store_full"] for one in seen] == [0, 1, 1, 0]
    assert [one["store_level"] for one in seen] == ["no_bodies", "no_new_chats", "full", "ok"]
    assert all("store_full" in repr(one["_aws"]) for one in seen)


def test_c20_each_request_has_metrics_of_its_own_by_function_alone(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The function's name is the only dimension, also if POWERTOOLS_SERVICE_NAME is set."""
    caplog.set_level("INFO", "kefu")
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "a-service")
    clock = SystemClock()
    log = RequestLog(clock, metrics="function")
    for code in ("invalid_request", ""):
        record = Record("r-1", "POST", "/api/chat", clock.monotonic())
        record.code = code
        log.request(record)
    failed, answered = (vars(record)["fields"] for record in caplog.records)
    assert (failed["requests"], failed["errors"], failed["code"]) == (1, 1, "invalid_request")
    assert (answered["requests"], answered["code"]) == (1, "ok")
    [directive] = answered["_aws"]["CloudWatchMetrics"]
    assert directive["Dimensions"] == [["function"]]
    units = {metric["Name"]: metric["Unit"] for metric in directive["Metrics"]}
    assert units == {"requests": "Count"}
    assert (directive["Namespace"], answered["function"]) == ("Kefu", "function")


CRASHING = """
import logging, sys
from kefu.bootstrap.clock import SystemClock
from kefu.web.log import RequestLog
from kefu.web.request_record import Record
from kefu.web.request_record import Record

log = RequestLog(SystemClock(), style=sys.argv[1], secrets=[sys.argv[2]])
log.open()
for crashed in (
    lambda: log.crashed(Record("r-1", "GET", "/", 0.0)),
    lambda: logging.getLogger("uvicorn.error").exception("the server's own"),
):
    try:
        raise RuntimeError(f"could not ask with {sys.argv[2]}")
    except RuntimeError:
        crashed()
"""


@pytest.mark.parametrize("style", ["json", "text"])
def test_t18_no_key_is_in_a_traceback(style: str) -> None:
    [key] = api_keys(1)
    command = [sys.executable, "-c", CRASHING, style, key]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.count("could not ask with [key]") >= 2
    assert done.stderr.count("Traceback") == 2
    assert key not in done.stderr


async def test_t18_streamed_echo_of_the_key_is_withheld(staged: Staged) -> None:
    """The key is sent in plain text, with JSON escapes, in an unused field, or letter by letter."""
    [key] = api_keys(1)
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in key)
    plain = b.event(b.chunk({"content": f"<{key}>"}))
    hidden = b.event(b.chunk({"content": "x"}, debug={"key": key}))
    coded = b.event(b.chunk({"content": "KEY"})).replace(b"KEY", escaped.encode())
    spelled = b"".join(b.event(b.chunk({"content": letter})) for letter in key)
    running = staged(1)
    for echo in (plain, hidden, coded, spelled):
        running.script(b.eof_after(1).then(echo, b.chunk({}, finish="stop"), b.DONE))
        answer = await running.ask()
        assert key[:8] not in answer.text
        assert key not in json.dumps(answer.chunks)
