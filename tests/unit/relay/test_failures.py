from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from kefu.errors import ContextTooLong, InvalidRequest
from kefu.relay.failures import Failed, Reaction, operator_error, reaction_to, silence, status_said
from kefu.relay.key_pool import Reason

NOW = 1_800_000_000.0
IN_90_SECONDS = format_datetime(datetime.fromtimestamp(NOW + 90, UTC), usegmt=True)


def verdict(
    status: int, headers: dict[str, str] | None = None, body: dict[str, object] | None = None
) -> Reaction:
    failed = Failed(f"http_{status}", status=status, headers=headers or {}, body=body or {})
    return reaction_to(failed, now=NOW, cooldown=60)


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
def test_status_that_is_the_keys_fault_cools_it_down(
    status: int, reason: Reason, rest: float
) -> None:
    """Requirements C9 and C14 and faults U1, U2 and U7."""
    found = verdict(status)
    assert found.cooldown is not None
    assert (found.cooldown.reason, found.cooldown.until) == (reason, NOW + rest)
    assert (found.is_final, found.failing) == (False, False)


@pytest.mark.parametrize("name", ["code", "type"])
def test_spent_quota_makes_the_key_invalid_for_an_hour(name: str) -> None:
    """Waiting does not help against this kind of 429."""
    found = verdict(429, body={"error": {name: "insufficient_quota"}})
    assert found.cooldown == (NOW + 3600, Reason.INVALID)


@pytest.mark.parametrize("status", [400, 405, 406, 413, 414, 415, 422])
def test_status_that_is_the_requests_fault_cools_no_key(status: int) -> None:
    """Requirement C9 and fault U8."""
    found = verdict(status)
    assert type(found.error) is InvalidRequest
    assert found.is_final
    assert found.cooldown is None


@pytest.mark.parametrize("status", [300, 301, 302, 307, 308, 399, 404])
def test_redirect_or_404_is_the_operators_mistake_and_waiting_does_not_help(status: int) -> None:
    """U27. The cause can only be the URL or the model, and both are settings."""
    found = verdict(status, {"location": "http://elsewhere", "retry-after": "5"})
    assert found.misconfigured
    assert found.cooldown is None
    assert (found.error.status, found.error.retry_after) == (503, None)
    assert operator_error(f"http_{status}")


@pytest.mark.parametrize("outcome", ["ok", "http_429", "silent", "http_500", "http_400"])
def test_other_outcomes_are_no_mistake_of_the_operator(outcome: str) -> None:
    assert operator_error(outcome, "Too many requests") == ""


def test_d4_refused_parameter_is_a_mistake_of_the_operator() -> None:
    for said in (
        '{"error": {"message": "Unsupported parameter: \'top_k\'"}}',
        '{"error": {"message": "No.", "code": "unsupported_value", "param": "reasoning_effort"}}',
        '{"error": {"message": "Unrecognized request argument supplied: top_k"}}',
        '{"message": "extraneous key [top_k] is not permitted"}',
    ):
        assert "parameter" in operator_error("http_400", said)
        assert operator_error("http_429", said) == ""
    assert (
        operator_error("http_400", '{"error": {"message": "Not allowed here", "param": null}}')
        == ""
    )


XAI = '{"code":"Client specified an invalid argument","error":"Incorrect API key provided: sk***A"}'
GEMINI = '[{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}]'


@pytest.mark.parametrize(
    ("status", "said", "counts_as"),
    [
        (400, XAI, 401),
        (400, GEMINI, 401),
        (400, '{"error":{"message":"API key expired. Please renew the API key."}}', 401),
        (422, XAI, 422),
        (400, '{"error": {"message": "The question \\"error\\": \\"Incorrect API key"}}', 400),
        (400, '{"error": {"message": "Unsupported parameter: \'top_k\'"}}', 400),
    ],
)
def test_a_400_that_refuses_the_key_counts_as_401(status: int, said: str, counts_as: int) -> None:
    """A question that the API quotes must not make a key invalid."""
    assert status_said(status, said) == counts_as


@pytest.mark.parametrize("outcome", ["silent", "no_event", "unreachable", "reset", "no_text"])
def test_fault_of_a_connection_cools_no_key_but_the_key_is_asked_last(outcome: str) -> None:
    """Faults U10 and U12."""
    found = reaction_to(Failed(outcome), now=NOW, cooldown=60)
    assert (found.cooldown, found.failing, found.is_final) == (None, True, False)


@pytest.mark.parametrize(
    "error",
    [
        {"code": "context_length_exceeded"},
        {"message": "This model's maximum context length is 4096 tokens."},
    ],
)
def test_context_too_long_is_recognised(error: dict[str, object]) -> None:
    """Fault U9."""
    assert type(verdict(400, body={"error": error}).error) is ContextTooLong


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
def test_upstream_can_only_lengthen_a_cooldown_up_to_an_hour(
    headers: dict[str, str], body: dict[str, object], rest: float
) -> None:
    """Fault U29."""
    found = verdict(429, headers, body)
    assert found.cooldown is not None
    assert found.cooldown.until == pytest.approx(NOW + rest)


def test_a_request_that_nobody_answered_says_how_long_it_waited_and_what_to_set() -> None:
    assert silence([1.0, 4.46]) == (
        'no headers in 4.5 s: for a model that needs longer, set patience = "slow" under [model]'
    )
