"""The relay's decision table: for each kind of failure the next key, and the error for the
caller.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import NamedTuple

import pytest

from kefu.errors import CertificateRejected, ContextTooLong, InvalidRequest, KefuError
from kefu.relay.key_pool import Reason
from kefu.relay.redaction import Secrets
from tests.fakes import in_process_upstream as up
from tests.fakes.in_process_upstream import Reply
from tests.fakes.relaying import Rig, in_virtual_time

KEY = "a-key-of-the-test"
LIMITED, FAILING, INVALID = Reason.RATE_LIMITED, Reason.FAILING, Reason.INVALID
MINUTE = (FAILING, 60.0)


class Case(NamedTuple):
    name: str
    """With the id of its row in the fault matrix."""
    reply: Reply
    outcome: str
    """In the log of attempts."""
    cooldown: tuple[Reason, float] | None = None
    prompts: int = 0
    """Prompts that the upstream may bill."""
    next_at: float = 0.0
    """Seconds after which the next key is asked."""

    @property
    def alone(self) -> tuple[int, int | None]:
        """The status and the Retry-After that the caller gets if there is one key only."""
        if self.cooldown:
            reason, seconds = self.cooldown
            return 429 if reason is LIMITED else 503, math.ceil(seconds)
        return 503, 1


def json_200(body: object) -> Reply:
    return up.refusal(200, body)


def stream(*parts: bytes | Exception, after: float = 0.0) -> Reply:
    return up.STREAM.then(*parts, after=after)


QUOTA = {"error": {"code": "insufficient_quota"}}
RATE = {"code": "rate_limit_exceeded"}
GZIP = replace(up.answer(), headers={**up.SSE, "content-encoding": "gzip"})
HTML = Reply(((0.0, b"<html>"),), headers={"content-type": "text/html"})
ENDLESS_ERROR = Reply(((0.4, b"x"),) * 9, 500, up.JSON)

ROTATED = [
    Case("U1-429", up.refusal(429), "http_429", (LIMITED, 60)),
    Case("U29-later", up.refusal(429, retry_after="90"), "http_429", (LIMITED, 90)),
    Case("U29-sooner", up.refusal(429, retry_after="5"), "http_429", (LIMITED, 60)),
    Case("U29-1e9", up.refusal(429, retry_after="1e9"), "http_429", (LIMITED, 3600)),
    Case("U29-abc", up.refusal(429, retry_after="abc"), "http_429", (LIMITED, 60)),
    Case("U29-ms", up.refusal(503, retry_after_ms="75500"), "http_503", (FAILING, 75.5)),
    Case("quota-429", up.refusal(429, QUOTA), "http_429", (INVALID, 3600)),
    Case("456", up.refusal(456), "http_456", (LIMITED, 60)),
    Case("U2-500", up.refusal(500), "http_500", MINUTE),
    Case("U2-502", up.refusal(502), "http_502", MINUTE),
    Case("U2-503-later", up.refusal(503, retry_after="61"), "http_503", (FAILING, 61)),
    Case("U7-401", up.refusal(401), "http_401", (INVALID, 3600)),
    Case("U7-402", up.refusal(402), "http_402", (INVALID, 3600)),
    Case("U7-403", up.refusal(403), "http_403", (INVALID, 3600)),
    Case("408", up.refusal(408), "http_408"),
    Case("204", Reply(status=204), "http_204"),
    Case("late-500", up.refusal(500).late(2), "http_500", MINUTE, next_at=2),
    Case("slow-500", ENDLESS_ERROR, "http_500", MINUTE, next_at=1),
    Case("U10-refused", up.REFUSED, "unreachable"),
    Case("U10-reset-before-headers", up.RESET, "unreachable", prompts=1),
    Case("U10-reset-late", up.RESET.late(1), "unreachable", prompts=1, next_at=1),
    Case("reset-before-event", stream(up.LOST), "reset", prompts=1),
    Case("U16-no-event", up.STREAM, "empty", MINUTE, 1),
    Case("only-comments", stream(b": ping\n\n"), "empty", MINUTE, 1),
    Case("U22-json", json_200({"id": "c"}), "not_sse", MINUTE, 1),
    Case("U22-list", json_200(["x"]), "not_sse", MINUTE, 1),
    Case("U22-html", HTML, "not_sse", MINUTE, 1),
    Case("U28-gzip", GZIP, "not_sse", MINUTE, 1),
    Case("U20-json-429", json_200({"error": RATE}), "http_429", (LIMITED, 60), 1),
    Case("U20-json-500", json_200({"error": {"message": "x"}}), "http_503", MINUTE, 1),
    Case(
        "U20-json-text", json_200({"error": "no slot", "code": 429}), "http_429", (LIMITED, 60), 1
    ),
    Case("U20-json-only-text", json_200({"error": "no slot"}), "http_503", MINUTE, 1),
    Case("U16-half-event", stream(b'data: {"choices": ['), "malformed", MINUTE, 1),
    Case("U19-malformed", stream(b"data: {no\n\n"), "malformed", MINUTE, 1),
    Case("U23-too-large", stream(b"data: " + b"A" * (1 << 20)), "malformed", MINUTE, 1),
    Case("T18-echoed-key", stream(up.text(KEY)), "malformed", MINUTE, 1),
    Case("U20-429", stream(up.in_band(**RATE)), "http_429", (LIMITED, 60), 1),
    Case("U20-500", stream(up.in_band(code=500)), "http_500", MINUTE, 1),
    Case("U20-401", stream(up.in_band(code=401)), "http_401", (INVALID, 3600), 1),
    Case("U20-wait", stream(up.in_band(code=429, retry_after=99)), "http_429", (LIMITED, 99), 1),
    Case("U20-late", stream(up.in_band(code=503), after=1.5), "http_503", MINUTE, 1, next_at=1.5),
]
"""Failures of a key or of a connection: the next key is asked."""

rotated = pytest.mark.parametrize("case", ROTATED, ids=[case.name for case in ROTATED])


@rotated
@in_virtual_time
async def test_after_a_failed_key_the_next_one_answers(case: Case) -> None:
    """The caller gets a normal answer, and only the failed key cools down."""
    rig = Rig({KEY: case.reply, "second": up.answer("good"), "third": up.SILENT})
    result = await rig.ask()
    assert (result.text, result.whole) == ("good", True)
    assert rig.asked == [(KEY, 0), ("second", case.next_at)]
    assert result.head_at == pytest.approx(case.next_at)
    assert await rig.cooling() == ({KEY: case.cooldown} if case.cooldown else {})
    assert rig.failing == ([] if case.cooldown else [KEY])
    assert result.outcomes == [case.outcome, "ok"]
    assert [one.cooled_down for one in result.call.attempts] == [bool(case.cooldown), False]
    assert result.call.attempts[0].seconds == pytest.approx(case.next_at)
    assert result.call.prompts_sent == case.prompts + 1
    assert rig.open == []


@rotated
@in_virtual_time
async def test_failure_of_the_only_key_has_its_own_status(case: Case) -> None:
    """U3, U4: `Retry-After` is the rest of the cooldown, because an earlier retry would fail."""
    rig = Rig({KEY: case.reply})
    result = await rig.ask()
    error = result.error
    assert (error.status, error.retry_after) == case.alone
    assert error.should_retry is False
    assert rig.asked == [(KEY, 0)]
    assert result.call.prompts_sent == case.prompts
    assert result.pieces == []
    assert rig.open == []


TOO_LONG = {"error": {"code": "context_length_exceeded"}}
HUGE = Reply(tuple((0.0, part) for part in (b" " * (1 << 16), json.dumps(TOO_LONG).encode())), 400)
TOO_LONG_TEXT = up.in_band(message="Context size has been exceeded.")
REDIRECT = up.refusal(307, location="http://elsewhere.example")
BAD_CERTIFICATE = Reply(error=CertificateRejected("certificate"))
REQUESTS_FAULT = [(s, up.refusal(s), InvalidRequest, 0) for s in (400, 405, 406, 415, 422)]


@pytest.mark.parametrize(
    ("name", "reply", "error", "prompts"),
    [
        *REQUESTS_FAULT,
        ("U9", up.refusal(400, TOO_LONG), ContextTooLong, 0),
        ("U9-413", up.refusal(413), ContextTooLong, 0),
        (
            "U9-in-band-text",
            stream(up.in_band(message="Context size has been exceeded.")),
            ContextTooLong,
            1,
        ),
        ("U9-in-band", stream(up.event(TOO_LONG)), ContextTooLong, 1),
        ("U20-400", stream(up.in_band(type="invalid_request_error")), InvalidRequest, 1),
        ("huge-body", HUGE, InvalidRequest, 0),
    ],
)
@in_virtual_time
async def test_u8_request_at_fault_is_asked_once_and_cools_no_key(
    name: object, reply: Reply, error: type[KefuError], prompts: int
) -> None:
    """The caller does not get the upstream's text."""
    rig = Rig({"first": reply, "second": up.answer()})
    result = await rig.ask()
    assert type(result.refused) is error
    assert result.error.status == 400
    assert rig.asked == [("first", 0)]
    assert await rig.cooling() == {}
    assert result.call.prompts_sent == prompts
    assert rig.open == []


NO_MODEL = up.refusal(404, {"error": {"message": "no such model", "code": "model_not_found"}})


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (REDIRECT, "http_307"),
        (up.refusal(301, retry_after="5"), "http_301"),
        (BAD_CERTIFICATE, "certificate"),
        (NO_MODEL, "http_404"),
        (up.refusal(404), "http_404"),
    ],
)
@in_virtual_time
async def test_u11_u27_wrong_address_or_model_gets_no_other_key(reply: Reply, outcome: str) -> None:
    """Every key would get the same response, and waiting does not help."""
    rig = Rig({"first": reply, "second": up.answer()})
    result = await rig.ask()
    error = result.error
    assert (error.status, error.should_retry, error.retry_after) == (503, False, None)
    assert rig.asked == [("first", 0)]
    assert result.outcomes == [outcome]
    assert (await rig.cooling(), rig.failing) == ({}, [])
    assert result.call.prompts_sent == 0
    assert result.call.all_keys_cooling is False


@in_virtual_time
async def test_after_an_answer_of_nothing_but_done_the_next_key_answers() -> None:
    rig = Rig({"first": stream(up.DONE), "second": up.answer("good")})
    assert (await rig.ask()).text == "good"


@in_virtual_time
async def test_configured_cooldown_replaces_the_minute() -> None:
    rig = Rig({"first": up.refusal(429), "second": HTML, "third": up.answer()}, cooldown=20.0)
    assert (await rig.ask()).whole
    assert await rig.cooling() == {"first": (LIMITED, 20), "second": (FAILING, 20)}


@in_virtual_time
async def test_http_date_in_retry_after_is_read_against_the_relays_clock() -> None:
    """U29. Virtual time begins at 08:00:00."""
    date = "Fri, 15 Jan 2027 08:02:05 GMT"
    rig = Rig({"first": up.refusal(503, retry_after=date), "second": up.answer()})
    assert (await rig.ask()).whole
    assert await rig.cooling() == {"first": (FAILING, 125)}


@in_virtual_time
async def test_refusal_is_logged_with_its_own_key() -> None:
    rig = Rig({"first": up.refusal(400)})
    result = await rig.ask()
    assert [(one.key, one.outcome) for one in result.call.attempts] == [
        (rig.pool.keys[0].fingerprint, "http_400")
    ]
    assert await rig.cooling() == {}


@in_virtual_time
async def test_t18_text_of_a_refusal_stays_with_its_attempt_without_secrets() -> None:
    """At most 4 KB of it. The key is replaced before the text is cut."""
    body = {"error": {"message": f"{'x' * 4060} wrong key {KEY} {'y' * 9000}"}}
    rig = Rig({KEY: up.refusal(401, body), "second": up.answer()}, redact=Secrets([KEY]).hide)
    result = await rig.ask()
    refused, answered = result.call.attempts
    assert refused.said.startswith('{"error": {"message": "xxx')
    assert refused.said.endswith("wrong key [k")
    assert len(refused.said.encode()) == 4096
    assert KEY[:8] not in refused.said
    assert answered.said == ""


@pytest.mark.parametrize(
    ("reply", "said"),
    [(up.STREAM.then(up.in_band(code=503, message="busy")), "busy"), (HTML, "<html>")],
)
@in_virtual_time
async def test_error_event_and_wrong_body_are_kept_with_the_attempt(
    reply: Reply, said: str
) -> None:
    result = await Rig({"first": reply, "second": up.answer()}).ask()
    assert said in result.call.attempts[0].said


@pytest.mark.parametrize(
    ("script", "cooling"),
    [
        ({"a": up.refusal(429), "b": up.refusal(500)}, True),
        ({"a": up.refusal(401)}, True),
        ({"a": up.refusal(429), "b": up.REFUSED}, False),
        ({"a": up.refusal(400)}, False),
        ({"a": up.SILENT}, False),
        ({}, False),
    ],
)
@in_virtual_time
async def test_all_keys_cooling_is_said_only_when_it_is_so(
    script: dict[str, Reply], cooling: bool
) -> None:
    rig = Rig(script)
    for _ in range(2):
        assert (await rig.ask()).refused is not None
    assert (await rig.ask()).call.all_keys_cooling is cooling


@pytest.mark.parametrize("kind", [{}, {"content-type": "application/octet-stream"}])
@in_virtual_time
async def test_r8_stream_without_its_own_content_type_is_read(kind: dict[str, str]) -> None:
    rig = Rig({"a": replace(up.answer("fine"), headers=kind)})
    assert (await rig.ask()).text == "fine"
    assert await rig.cooling() == {}
    rig = Rig({"a": Reply(((0.0, b"<html>"),), headers=kind)})
    assert not (await rig.ask()).whole
    assert (await rig.cooling())["a"][1] == 60


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "text/html; charset=utf-8"])
@in_virtual_time
async def test_r8_stream_with_another_content_type_is_read(kind: str) -> None:
    """Frameworks name such a type by default. The headers may come long before the first word."""
    whole = b": hi\n\n" + up.text("fi") + up.text("ne") + up.STOP + up.DONE
    late = (
        Reply(headers={"content-type": kind}).then(whole[:1], after=2).then(whole[1:3], whole[3:])
    )
    rig = Rig({"a": late})
    assert (await rig.ask()).text == "fine"
    assert await rig.cooling() == {}


@in_virtual_time
async def test_an_error_that_is_named_an_event_stream_is_read_whole() -> None:
    words = json.dumps(TOO_LONG).encode()
    rig = Rig({"a": Reply(((0.0, words[:9]), (0.1, words[9:])), 400, up.SSE)})
    assert type((await rig.ask()).refused) is ContextTooLong


@in_virtual_time
async def test_r8_a_page_that_does_not_end_is_known_after_a_second() -> None:
    rig = Rig({"a": HTML.then_silence(), "b": up.answer("fine")})
    result = await rig.ask()
    assert (result.text, result.outcomes, rig.asked) == (
        "fine",
        ["not_sse", "ok"],
        [("a", 0), ("b", 1)],
    )
