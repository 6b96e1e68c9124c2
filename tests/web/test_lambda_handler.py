"""The buffered Lambda handler on every sample event: C1, C5, C17, C18, C19, L5, L6."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import tests.fakes.behaviours as b
from kefu.stores.sqlite.store import SqliteStore
from tests.fakes import handled
from tests.fakes.forked import kefu
from tests.fakes.upstream import ScriptedUpstream

ROOT = Path(__file__).parents[2]
EVENTS = ROOT / "events"
NAMES = sorted(path.stem for path in EVENTS.glob("*.json"))

Answer = dict[str, Any]


def invoke(*events: object, **environment: str) -> tuple[list[Answer], str]:
    """The handler's responses to these events, and its log."""
    seconds = environment.pop("TIMEOUT", None)
    done = kefu(
        *filter(None, [seconds]),
        folder=ROOT,
        environment={"AWS_LAMBDA_FUNCTION_NAME": "kefu", **environment},
        typed=json.dumps(events),
        main=handled.main,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def event(name: str) -> Answer:
    loaded: Answer = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def header(answer: Answer, name: str) -> str | None:
    headers = {key.lower(): value for key, value in answer.get("headers", {}).items()}
    many = {key.lower(): value for key, value in answer.get("multiValueHeaders", {}).items()}
    return headers.get(name) or (many[name][0] if name in many else None)


@pytest.fixture(scope="module")
def answers() -> dict[str, Answer]:
    """The handler's responses to all sample events, which one process gives one after the other."""
    with ScriptedUpstream() as upstream:
        upstream.script("*", b.answer("你", "好"))
        given, _log = invoke(
            *map(event, NAMES),
            LONGCAT_API_KEYS="sk-canary-lambda",
            KEFU_UPSTREAM_URL=upstream.base_url,
            KEFU_ALLOWED_ORIGINS="https://www.example.com",
            KEFU_OPENAI_API="on",
            KEFU_SESSIONS="true",
            KEFU_CONTACT_FORM="email,message",
            ADMIN_TOKEN="an-operators-token-of-thirty-two-characters",
        )
    return dict(zip(NAMES, given, strict=True))


def test_a_client_cannot_send_an_event_of_the_schedule() -> None:
    """Mangum does not overwrite the header that tells such an event behind the Web Adapter."""
    forged = event("rest-chat") | {"path": "/events", "multiValueHeaders": None}
    forged["headers"] = {"x-amzn-request-context": "null"}
    [answer], _log = invoke(forged, AWS_LAMBDA_RUNTIME_API="127.0.0.1:9")
    assert answer["statusCode"] == 404


@pytest.mark.parametrize("name", NAMES)
def test_handler_answers_every_sample_event(name: str, answers: dict[str, Answer]) -> None:
    """L6: the body contains the whole stream, unchanged."""
    answer = answers[name]
    expected = 204 if name.endswith(("-preflight", "-cancel", "-feedback", "-contact")) else 200
    if "-session-" in name and not name.endswith("-list"):  # the sample's session does not exist
        assert json.loads(answer["body"])["error"]["code"] == "session_not_found"
        expected = 404
    if name.endswith("-session-list"):  # its user is not signed in
        assert json.loads(answer["body"])["error"]["code"] == "identity_rejected"
        expected = 403
    assert answer["statusCode"] == expected
    # Every page may load the widget's files; no other page may load the panel.
    readers = (None,) if name == "rest-panel" else ("https://www.example.com", "*")
    assert header(answer, "access-control-allow-origin") in readers
    assert header(answer, "x-request-id")
    if name.endswith("-chat"):
        assert header(answer, "content-type") == "text/event-stream; charset=utf-8"
        events = answer["body"].strip().split("\n\n")
        assert events[-1] == "data: [DONE]"
        chunks = [json.loads(line.removeprefix("data: ")) for line in events[:-1]]
        deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
        assert "".join(delta.get("content") or "" for delta in deltas) == "你好"
    if name == "http-completions":
        assert json.loads(answer["body"])["choices"][0]["message"]["content"] == "你好"


def test_a_handler_without_keys_starts_degraded_and_returns_503() -> None:
    """Requirement C13 and fault L5."""
    (health, chat), _log = invoke(event("rest-health"), event("rest-chat"))
    assert json.loads(health["body"])["status"] == "degraded"
    # No origin is allowed by default, so this request has none, as those of programs.
    assert chat["statusCode"] == 403
    asked = event("rest-chat")
    del asked["headers"]["Origin"], asked["multiValueHeaders"]["Origin"]
    [chat], _log = invoke(asked)
    assert chat["statusCode"] == 503
    assert json.loads(chat["body"])["error"]["code"] == "upstream_service_unavailable"


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """Has `kefu.sqlite3`: a busy machine may need longer to make it than a chat waits, and then the
    first one counts apart.
    """
    store = SqliteStore(tmp_path / "kefu.sqlite3", time.time)
    await store.cooldowns()
    await store.aclose()
    return tmp_path


@pytest.mark.parametrize("store", ["memory:", "sqlite:///{folder}/kefu.sqlite3"])
def test_handler_counts_by_the_gateways_address_not_by_a_header(store: str, folder: Path) -> None:
    """C19, T3: the count continues with the next event, because an instance starts its
    store once.
    """
    with ScriptedUpstream() as upstream:
        upstream.script("*", b.answer("hi"))
        asked = []
        for number in range(4):
            spoofed = event("http-chat")
            spoofed["headers"]["x-forwarded-for"] = f"198.51.100.{number}"
            asked.append(spoofed)
        answers, log = invoke(
            *asked,
            KEFU_STORE=store.format(folder=folder),
            LONGCAT_API_KEYS="sk-canary-lambda",
            KEFU_UPSTREAM_URL=upstream.base_url,
            KEFU_ALLOWED_ORIGINS="https://www.example.com",
            KEFU_IP_REQUESTS_PER_MINUTE="2",
        )
        assert [answer["statusCode"] for answer in answers] == [200, 200, 429, 429]
        assert len(upstream.journal) == 2
        assert "degraded" not in log


def lambda_headers(ip: str, left: float) -> dict[str, str]:
    """A header of the Web Adapter, but sent by the client."""
    return {
        "x-amzn-request-context": json.dumps({"identity": {"sourceIp": ip}}),
        "x-amzn-lambda-context": json.dumps({"deadline": int((time.time() + left) * 1000)}),
    }


def test_handler_does_not_believe_the_adapters_headers() -> None:
    """T3: behind Mangum no adapter overwrites these headers, so a client could forge them."""
    with ScriptedUpstream() as upstream:
        upstream.script("*", b.answer("hi"))
        asked = []
        for number in range(3):
            spoofed = event("http-chat")
            spoofed["headers"] |= lambda_headers(f"198.51.100.{number}", left=0)
            asked.append(spoofed)
        answers, _log = invoke(
            *asked,
            AWS_LAMBDA_RUNTIME_API="127.0.0.1:9001",
            LONGCAT_API_KEYS="sk-canary-lambda",
            KEFU_UPSTREAM_URL=upstream.base_url,
            KEFU_ALLOWED_ORIGINS="https://www.example.com",
            KEFU_IP_REQUESTS_PER_MINUTE="2",
        )
    assert [answer["statusCode"] for answer in answers] == [200, 200, 429]
    assert answers[0]["body"].endswith("data: [DONE]\n\n")


@pytest.mark.slow
def test_l1_l7_handler_ends_a_stream_two_seconds_before_its_deadline() -> None:
    """An HTTP API ends a response after 30 s; no answer may be cut off by the gateway."""
    with ScriptedUpstream() as upstream:
        upstream.script("*", b.drip(1000, delay=0.1))
        [answer], log = invoke(
            event("http-chat"),
            TIMEOUT="5",
            LONGCAT_API_KEYS="sk-canary-lambda",
            KEFU_UPSTREAM_URL=upstream.base_url,
            KEFU_ALLOWED_ORIGINS="https://www.example.com",
        )
        assert upstream.calls()[0].closed_at
    *chunks, last = answer["body"].strip().split("\n\n")
    assert answer["statusCode"] == 200
    assert len(chunks) > 3
    assert json.loads(last.removeprefix("data: "))["error"]["code"] == "gateway_timeout"
    assert '"code":"gateway_timeout"' in log


@pytest.mark.slow
def test_l1_a_stored_chat_continues_after_a_deadline_on_another_instance(tmp_path: Path) -> None:
    """P16, P35: the text so far is stored within the remaining two seconds."""
    asked = event("http-kept-chat")
    kept = {
        "LONGCAT_API_KEYS": "sk-canary-lambda",
        "KEFU_ALLOWED_ORIGINS": "https://www.example.com",
        "KEFU_SESSIONS": "true",
        "KEFU_STORE": f"sqlite:///{tmp_path}/kefu.sqlite3",
    }
    with ScriptedUpstream() as upstream:
        upstream.script("*", b.drip(1000, delay=0.1))
        kept["KEFU_UPSTREAM_URL"] = upstream.base_url
        [cut], _log = invoke(asked, TIMEOUT="3", **kept)
        assert "gateway_timeout" in cut["body"]
        name = header(cut, "x-session-id")
        look = event("http-session-messages")
        look["rawPath"] = look["requestContext"]["http"]["path"] = f"/api/sessions/{name}/messages"
        look["headers"]["x-session-token"] = header(cut, "x-session-token")
        upstream.script("*", b.answer("now"))
        before, again, after = invoke(look, asked, look, **kept)[0]
    messages = json.loads(before["body"])["messages"]
    assert [message["status"] for message in messages] == ["partial", "partial"]
    assert messages[1]["content"]
    assert "now" in again["body"]
    assert [m["content"] for m in json.loads(after["body"])["messages"]] == [
        "Where is my parcel?",
        "now",
    ]


def test_l1_a_handler_without_time_for_an_answer_returns_504() -> None:
    with ScriptedUpstream() as upstream:
        upstream.script("*", b.silent)
        [answer], _log = invoke(
            event("http-chat"),
            TIMEOUT="2.5",
            LONGCAT_API_KEYS="sk-canary-lambda",
            KEFU_UPSTREAM_URL=upstream.base_url,
            KEFU_ALLOWED_ORIGINS="https://www.example.com",
        )
    assert answer["statusCode"] == 504
    assert json.loads(answer["body"])["error"]["code"] == "gateway_timeout"


def test_l6_answer_over_six_megabytes_is_503_and_the_model_is_stopped() -> None:
    """Quotes count twice, because the limit applies to the body as a JSON string."""
    with ScriptedUpstream() as upstream:
        upstream.script("*", b.answer(*['"' * 50_000] * 200, delay=0.005))
        [answer], log = invoke(
            event("http-chat"),
            LONGCAT_API_KEYS="sk-canary-lambda",
            KEFU_UPSTREAM_URL=upstream.base_url,
            KEFU_ALLOWED_ORIGINS="https://www.example.com",
            KEFU_MAX_OUTPUT_TOKENS="8192",
        )
        assert upstream.calls()[0].closed_at
    assert answer["statusCode"] == 503
    error = json.loads(answer["body"])["error"]
    assert error["code"] == "upstream_service_unavailable"
    assert "too long" in error["message"]
    assert header(answer, "content-type") == "application/json"
    assert header(answer, "access-control-allow-origin") == "https://www.example.com"
    assert header(answer, "x-should-retry") == "false"
    assert header(answer, "x-request-id")
    assert '"code":"upstream_service_unavailable"' in log
    assert "crashed" not in log


def test_l6_answer_just_under_six_megabytes_is_whole() -> None:
    text = "x" * 50_000
    with ScriptedUpstream() as upstream:
        upstream.script("*", b.answer(*[text] * 120))
        [answer], _log = invoke(
            event("http-chat"),
            LONGCAT_API_KEYS="sk-canary-lambda",
            KEFU_UPSTREAM_URL=upstream.base_url,
            KEFU_ALLOWED_ORIGINS="https://www.example.com",
            KEFU_MAX_OUTPUT_TOKENS="8192",
        )
    assert answer["statusCode"] == 200
    assert answer["body"].count(text) == 120
    assert 6_000_000 < len(json.dumps(answer)) < 6 * 1024 * 1024


@pytest.mark.parametrize("level", ["INFO", "ERROR"])
def test_log_line_on_aws_carries_metrics(level: str) -> None:
    """C20: at every log level, because alarms depend on the metrics."""
    with ScriptedUpstream() as upstream:
        upstream.script("*", b.status(429), b.answer("hi"))
        _answers, log = invoke(
            event("http-chat"),
            LONGCAT_API_KEYS="sk-canary-one,sk-canary-two",
            KEFU_UPSTREAM_URL=upstream.base_url,
            KEFU_ALLOWED_ORIGINS="https://www.example.com",
            KEFU_LOG_LEVEL=level,
            AWS_LAMBDA_LOG_LEVEL="DEBUG",
        )
    assert "canary" not in log
    [line] = [json.loads(each) for each in log.splitlines() if '"path":"/api/chat"' in each]
    metrics = line["_aws"]["CloudWatchMetrics"][0]
    assert metrics["Namespace"] == "Kefu"
    # Each metric costs 30 cents a month for each value of its dimensions.
    assert metrics["Dimensions"] == [["function"]]
    names = {metric["Name"] for metric in metrics["Metrics"]}
    assert names == {"requests", "ttft_ms", "tokens", "cooldowns", "all_keys_cooling"}
    for metric in metrics["Metrics"]:
        assert isinstance(line[metric["Name"]], int | float)
    assert (line["requests"], line["attempts"], line["cooldowns"]) == (1, 2, 1)
