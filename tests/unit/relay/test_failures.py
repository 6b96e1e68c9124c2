import json
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
    body, said = body or {}, json.dumps(body)
    failed = Failed(f"http_{status}", status=status, headers=headers or {}, body=body, said=said)
    return reaction_to(failed, now=NOW, cooldown=60)


def refused_with(status: int, said: str) -> Reaction:
    failed = Failed(f"http_{status}", status=status, body={"error": said}, said=said)
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


@pytest.mark.parametrize("status", [400, 405, 406, 414, 415, 422])
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


GEMINI_TOO_LONG = "The input token count (9) exceeds the maximum number of tokens allowed (8)."
TOO_LONG = {
    "openai": (400, "This model's maximum context length is 4096 tokens. However, your messages"),
    "openai-code": (400, '{"error": {"message": "No.", "code": "context_length_exceeded"}}'),
    "openai-responses": (400, "Your input exceeds the context window of this model."),
    "openai-tpm": (429, "Request too large for gpt-4o in organization org-V on tokens per min"),
    "anthropic": (400, "prompt is too long: 213462 tokens > 200000 maximum"),
    "anthropic-sum": (400, "input length and `max_tokens` exceed context limit: 184915 + 20000"),
    "bedrock": (400, "Input is too long for requested model."),
    "gemini": (400, f"[{json.dumps({'error': {'message': GEMINI_TOO_LONG}})}]"),
    "xai": (400, "This model's maximum prompt length is 131072 but the request contains 136973"),
    "mistral": (400, "Prompt contains 9 tokens, too large for model with 8 maximum context length"),
    "groq": (413, '{"error": {"type": "tokens", "code": "rate_limit_exceeded"}}'),
    "groq-text": (400, "Please reduce the length of the messages or completion."),
    "github-models": (413, '{"error": {"code": "tokens_limit_reached"}}'),
    "nginx": (413, "<html><h1>413 Request Entity Too Large</h1></html>"),
    "moonshot": (400, "Invalid request: Your request exceeded model token limit: 262144"),
    "qwen": (400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1,"),
    "zhipu": (400, '{"error":{"code":"1261","message":"Prompt exceeds max length"}}'),
    "minimax": (400, "invalid params, context window exceeds limit (2013)"),
    "siliconflow": (400, "length of prompt_tokens (68957) must be less than max_seq_len (65536)."),
    "siliconflow-sum": (400, "max_total_tokens (33802) must be less than or equal to max_seq_len"),
    "cohere": (400, "too many tokens: total number of tokens (prompt and prediction) cannot"),
    "cloudflare": (400, "Requested token count exceeds the model's maximum context length of 256"),
    "vllm": (400, "You passed 5 input tokens. However, the model's context length is only 4"),
    "vllm-rest": (400, "max_tokens must be at least 1, got -186."),
    "vllm-decoder": (400, "The decoder prompt (length 44) is longer than the maximum model length"),
    "vllm-fit": (400, "The prompt (total length 25938) is too long to fit into the model"),
    "sglang": (400, "The input (61709 tokens) is longer than the model's context length (40960"),
    "sglang-most": (400, "Input length (160062 tokens) exceeds the maximum allowed length (59862"),
    "tgi": (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 1512."),
    "tgi-inputs": (422, "Input validation error: `inputs` must have less than 1024 tokens. Given"),
    "llama.cpp": (400, "request (53192 tokens) exceeds the available context size (50176 tokens)"),
    "llama.cpp-type": (500, '{"error": {"code": 500, "type": "exceed_context_size_error"}}'),
    "llama-cpp-python": (500, "Requested tokens (2285) exceed context window of 2048"),
    "lm-studio": (400, "Trying to keep the first 13055 tokens when context the overflows."),
    "lm-studio-keep": (400, "is greater than the context length (n_keep: 13055>= n_ctx: 4096)"),
    "lm-studio-mlx": (503, "Context size has been exceeded."),
    "ollama": (400, '{"error":"prompt too long; exceeded max context length by 540451 tokens"}'),
}
"""Refusals of a prompt that is too long, as model servers word them, and their status."""


@pytest.mark.parametrize(("status", "said"), TOO_LONG.values(), ids=TOO_LONG)
def test_u9_a_prompt_that_is_too_long_is_recognised_and_cools_no_key(
    status: int, said: str
) -> None:
    found = refused_with(status, said)
    assert type(found.error) is ContextTooLong
    assert (found.is_final, found.cooldown) == (True, None)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "max_tokens is too large: 5000. This model supports at most 4096 completion tokens"),
        (400, "max_tokens: 10000 > 4096, which is the maximum allowed number of output tokens"),
        (400, "max_tokens must be less than or equal to 16384, the context_window of this model"),
        (400, "The maximum tokens you requested exceeds the model limit of 8192."),
        (429, "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 20000"),
        (429, "Too many tokens, please wait before trying again."),
        (429, "This request would exceed the rate limit of 20,000 input tokens per minute."),
        (503, "The model is overloaded. Please try again later."),
    ],
)
def test_other_refusals_about_tokens_do_not_shorten_the_prompt(status: int, said: str) -> None:
    assert type(refused_with(status, said).error) is not ContextTooLong


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
