"""C7, C8: real OpenAI clients, configured only with a `base_url`.

Every client keeps its default retries, so the tests count all calls of the upstream.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.clients.conftest import JSON_QUESTION, SCRIPTS, TOOL_QUESTION, Seen

OFFICIAL = ("openai_sdk", "openai_node")
"""OpenAI's own clients. The others are built on them, so they break rarely without them."""

pytestmark = pytest.mark.parametrize(
    "command",
    [
        pytest.param(script, marks=() if script in OFFICIAL else pytest.mark.slow)
        for script in SCRIPTS
    ],
    indirect=True,
    scope="session",
)

STREAMED = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


@dataclass(frozen=True)
class Names:
    """The client's exception classes, or their base classes, for the errors in the table of C8."""

    bad: str
    limited: str
    down: str
    silent: str
    broken: str


OPENAI = Names(
    bad="BadRequestError",
    limited="RateLimitError",
    down="InternalServerError",
    silent="InternalServerError",
    broken="APIError",
)
NAMES = {
    "openai_sdk": OPENAI,
    "openai_node": OPENAI,
    "langchain_sdk": OPENAI,
    "litellm_sdk": Names(
        bad="BadRequestError",
        limited="RateLimitError",
        down="ServiceUnavailableError",
        silent="Timeout",
        broken="MidStreamFallbackError",
    ),
    "llm_cli": Names(*["ExitCode"] * 5),
}


@pytest.fixture
def script(request: pytest.FixtureRequest) -> str:
    name: str = request.node.callspec.params["command"]
    return name


def outcome(seen: Seen, question: str, stream: bool) -> dict[str, Any]:
    return seen.outcomes[question, stream]


@STREAMED
def test_client_reads_the_whole_text(seen: Seen, script: str, stream: bool) -> None:
    good = outcome(seen, "good", stream)
    assert (good["text"], good["error"]) == ("Two to four 天。", [])
    assert good["finish"] == (None if script == "llm_cli" else "stop")


@STREAMED
@pytest.mark.parametrize(
    ("question", "status", "code"),
    [
        ("bad", 400, "invalid_request"),
        ("limited", 429, "rate_limit_exceeded"),
        ("down", 503, "upstream_service_unavailable"),
        ("silent", 504, "gateway_timeout"),
    ],
)
def test_client_raises_the_error_that_the_status_means(
    seen: Seen, script: str, question: str, status: int, code: str, stream: bool
) -> None:
    failed = outcome(seen, question, stream)
    assert getattr(NAMES[script], question) in failed["error"], failed
    assert failed["text"] == ""
    if script == "llm_cli":
        assert failed["status"] == 1
        assert failed["message"].startswith(f"Error: Error code: {status} ")
        return
    assert failed["status"] == status
    if script != "litellm_sdk":  # this client's exception has no code
        assert failed["code"] == code


def test_client_raises_an_error_in_the_middle_of_a_stream(seen: Seen, script: str) -> None:
    broken = outcome(seen, "broken", stream=True)
    assert NAMES[script].broken in broken["error"], broken
    assert broken["message"]
    assert broken["text"] == "piece0 piece1 piece2 "


def test_client_raises_an_error_for_a_whole_answer_that_broke(seen: Seen, script: str) -> None:
    broken = outcome(seen, "broken", stream=False)
    assert NAMES[script].down in broken["error"], broken
    assert broken["text"] == ""


def test_client_does_not_multiply_calls_once_every_key_refused(seen: Seen, script: str) -> None:
    """C14: with three keys there are three calls for the first request, and none for the second."""
    assert seen.asked["limited"] == 3
    assert seen.asked["down"] == 3
    assert seen.requests["limited"] == [429, 429]
    assert seen.requests["down"] == [503, 503]


def test_the_client_does_not_retry_unanswered_calls(seen: Seen, script: str) -> None:
    assert seen.requests["well"].count(504) == 2
    assert seen.asked["silent"] == 4, "of three silent keys two are asked at once"


def test_client_does_not_repeat_a_bad_request_or_a_broken_answer(seen: Seen, script: str) -> None:
    assert seen.asked["bad"] == 2
    assert seen.asked["broken"] == 2


def test_client_uses_a_tool_and_reads_the_answer_to_its_result(seen: Seen, script: str) -> None:
    """Definition, call and result of the tool all pass, with a system message beside them."""
    used = outcome(seen, TOOL_QUESTION, stream=False)
    assert used["error"] == []
    assert used["text"] == "It is sunny."
    assert used["finish"] == (None if script == "llm_cli" else "tool_calls")
    assert seen.asked[TOOL_QUESTION] == 2


def test_client_gets_an_answer_in_the_form_of_its_schema(seen: Seen, script: str) -> None:
    given = outcome(seen, JSON_QUESTION, stream=False)
    asks_for_json = script in (*OFFICIAL, "langchain_sdk")
    assert (given["text"], given["error"]) == ('{"city":"Bern"}' if asks_for_json else "Bern", [])
