from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from kefu.keypool import Reason
from kefu.refusal import refusal

NOW = 1_800_000_000.0
IN_90_SECONDS = format_datetime(datetime.fromtimestamp(NOW + 90, UTC), usegmt=True)


@pytest.mark.parametrize(
    ("status", "reason", "rest"),
    [
        (429, Reason.RATE_LIMITED, 60),
        (456, Reason.RATE_LIMITED, 60),
        (500, Reason.FAILING, 60),
        (502, Reason.FAILING, 60),
        (503, Reason.FAILING, 60),
        (599, Reason.FAILING, 60),
        (401, Reason.INVALID, 3600),
        (402, Reason.INVALID, 3600),
        (403, Reason.INVALID, 3600),
    ],
)
def test_status_that_is_the_keys_fault_rests_it(status: int, reason: Reason, rest: float) -> None:
    """C9, C14, U1, U2, U7."""
    verdict = refusal(status, {}, {}, now=NOW, rest=60)
    assert verdict.rest is not None
    assert (verdict.rest.reason, verdict.rest.until) == (reason, NOW + rest)
    assert not verdict.request_at_fault


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_status_that_is_the_requests_fault_rests_no_key(status: int) -> None:
    """C9, U8."""
    verdict = refusal(status, {}, {}, now=NOW, rest=60)
    assert verdict.request_at_fault
    assert verdict.rest is None


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirect_is_nobodys_answer(status: int) -> None:
    """U27."""
    verdict = refusal(status, {"location": "http://elsewhere"}, {}, now=NOW, rest=60)
    assert verdict.misdirected
    assert verdict.rest is None


@pytest.mark.parametrize(
    "error",
    [
        {"code": "context_length_exceeded"},
        {"message": "This model's maximum context length is 4096 tokens."},
    ],
)
def test_context_too_long_is_recognised(error: dict[str, object]) -> None:
    """U9."""
    assert refusal(400, {}, {"error": error}, now=NOW, rest=60).context_too_long


@pytest.mark.parametrize(
    ("headers", "body", "rest"),
    [
        ({"retry-after": "0"}, {}, 60),
        ({"retry-after": "-5"}, {}, 60),
        ({"retry-after": "abc"}, {}, 60),
        ({"retry-after": "nan"}, {}, 60),
        ({"retry-after": "inf"}, {}, 60),
        ({"retry-after": ""}, {}, 60),
        ({"retry-after": "30"}, {}, 60),
        ({"retry-after": "90"}, {}, 90),
        ({"retry-after": "1e9"}, {}, 3600),
        ({"retry-after": IN_90_SECONDS}, {}, 90),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, {}, 60),
        ({"retry-after-ms": "120000"}, {}, 120),
        ({}, {"error": {"retry_after": 75}}, 75),
        ({}, {"error": {"retry_after": "soon"}}, 60),
        ({}, {"error": "busy"}, 60),
        ({}, {"error": {"retry_after": 10**400}}, 60),
    ],
)
def test_upstreams_word_only_lengthens_the_rest_and_is_clamped(
    headers: dict[str, str], body: dict[str, object], rest: float
) -> None:
    """U29."""
    verdict = refusal(429, headers, body, now=NOW, rest=60)
    assert verdict.rest is not None
    assert verdict.rest.until == pytest.approx(NOW + rest)
