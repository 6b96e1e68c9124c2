"""Exact counts beside the figures that OpenAI has published, and beside `usage` (X7, X13)."""

from __future__ import annotations

import pytest

from kefu.context import TrimState, trim_messages
from kefu.context.trimmed import Trimmed

REFERENCE = [
    {"role": "system", "content": "You are a helpful assistant."},
    {"role": "user", "content": "Hello!"},
]
"""OpenAI's API reference, "Create chat completion": `usage.prompt_tokens` is 19."""
COOKBOOK = [
    {
        "role": "system",
        "content": "You are a helpful, pattern-following assistant that translates corporate"
        " jargon into plain English.",
    },
    {
        "role": "system",
        "name": "example_user",
        "content": "New synergies will help drive top-line growth.",
    },
    {
        "role": "system",
        "name": "example_assistant",
        "content": "Things working well together will increase revenue.",
    },
    {
        "role": "system",
        "name": "example_user",
        "content": "Let's circle back when we have more bandwidth to touch base on opportunities"
        " for increased leverage.",
    },
    {
        "role": "system",
        "name": "example_assistant",
        "content": "Let's talk later when we're less busy about how to do better.",
    },
    {
        "role": "user",
        "content": "This late pivot means we don't have time to boil the ocean for the client"
        " deliverable.",
    },
]
"""OpenAI's cookbook, "How to count tokens with tiktoken", with the counts that the API returned."""


def exactly(
    messages: list[dict[str, str]], model: str, state: TrimState
) -> Trimmed[dict[str, str]]:
    """The prompt with so little room that the exact counter decides."""
    return trim_messages(messages, model=model, max_tokens=140, reserve=0, state=state)


@pytest.mark.parametrize(
    ("messages", "model", "billed"),
    [
        (REFERENCE, "gpt-4o", 19),
        (REFERENCE, "gpt-4", 19),
        (COOKBOOK, "gpt-4", 129),
        (COOKBOOK, "gpt-3.5-turbo", 129),
        (COOKBOOK, "gpt-4o", 124),
    ],
)
def test_x7_exact_counts_are_those_that_openai_has_published(
    messages: list[dict[str, str]], model: str, billed: int
) -> None:
    encoding = f"tiktoken:{model}"
    counted = trim_messages(messages, max_tokens=1000, reserve=0, counter=encoding)
    assert counted.tokens == billed


def test_x7_many_small_messages_stay_within_the_true_limit() -> None:
    """Each message costs five tokens, so 801 of them do not fit into 3,300."""
    messages = [{"role": "assistant" if at % 2 else "user", "content": "a"} for at in range(801)]
    sent = trim_messages(messages, model="gpt-4o", max_tokens=3300, reserve=0)
    assert 3 + 5 * len(sent) <= 3300


def test_x13_usage_corrects_an_exact_count_upwards_only() -> None:
    messages = [{"role": "user", "content": "word " * 20} for _ in range(5)]
    first = exactly(messages, "gpt-4o", TrimState())
    more = exactly(messages, "gpt-4o", first.state.calibrated(2 * first.tokens))
    less = exactly(messages, "gpt-4o", first.state.calibrated(first.tokens // 2))
    assert (more.limit, less.limit, first.limit) == (70, 140, 140)


def test_x13_the_correction_of_an_estimate_is_none_of_an_exact_count() -> None:
    messages = [{"role": "user", "content": "word " * 20} for _ in range(5)]
    estimated = trim_messages(messages, model="gpt-4o", max_tokens=9000, counter="calibrated")
    state = estimated.state.calibrated(3 * estimated.tokens)
    assert exactly(messages, "gpt-4o", state).limit == 140


WEATHER = {
    "type": "function",
    "function": {
        "name": "get_current_weather",
        "description": "Get the current weather in a given location",
        "parameters": {
            "type": "object",
            "properties": {
                "location": {
                    "type": "string",
                    "description": "The city and state, e.g. San Francisco, CA",
                },
                "unit": {
                    "type": "string",
                    "description": "The unit of temperature to return",
                    "enum": ["celsius", "fahrenheit"],
                },
            },
            "required": ["location"],
        },
    },
}
ASKED = [
    {
        "role": "system",
        "content": "You are a helpful assistant that can answer to questions about the weather.",
    },
    {"role": "user", "content": "What's the weather like in San Francisco?"},
]
"""OpenAI's cookbook, "Using tool calls with num_tokens_for_tools"."""


@pytest.mark.parametrize(("model", "billed"), [("gpt-4", 105), ("gpt-4o", 101)])
def test_x7_tools_are_counted_as_openai_bills_them(model: str, billed: int) -> None:
    counted = trim_messages(
        ASKED,
        model=model,
        max_tokens=1000,
        reserve=0,
        counter=f"tiktoken:{model}",
        tools=[WEATHER],
    )
    assert counted.tokens == billed


def test_x7_what_the_formula_for_tools_does_not_explain_is_counted_as_json() -> None:
    nested = {
        "type": "object",
        "properties": {"deep": {"type": "string", "description": "d" * 400}},
    }
    function = {"name": "f", "parameters": {"type": "object", "properties": {"a": nested}}}
    for tools in (
        [{"type": "function", "function": function}],
        [function],
        [{"type": "x", "y": "d" * 400}],
    ):
        counted = trim_messages(
            ASKED, model="gpt-4o", max_tokens=1000, counter="bytes4", tools=tools
        )
        assert counted.tokens > 100


class Named:
    def __init__(self, **fields: object) -> None:
        self.__dict__.update(fields)


USAGES: dict[str, object] = {
    "a number": 120,
    "OpenAI": Named(prompt_tokens=120, completion_tokens=9),
    "OpenAI's Responses": {"input_tokens": 120, "input_tokens_details": {"cached_tokens": 100}},
    "Anthropic": Named(input_tokens=20, cache_read_input_tokens=90, cache_creation_input_tokens=10),
    "Anthropic without a cache": Named(
        input_tokens=120, cache_read_input_tokens=None, cache_creation_input_tokens=None
    ),
    "Bedrock": {"inputTokens": 20, "outputTokens": 9, "cacheReadInputTokens": 100},
    "Gemini": Named(usage_metadata=Named(prompt_token_count=120)),
    "LangChain": {"input_tokens": 120, "input_token_details": {"cache_read": 100}},
    "Ollama": {"prompt_eval_count": 120, "eval_count": 9},
    "a response": Named(usage=Named(prompt_tokens=120)),
}


@pytest.mark.parametrize("name", USAGES)
def test_x24_usage_is_taken_as_the_client_returns_it(name: str) -> None:
    state = TrimState(counted=60).calibrated(USAGES[name])
    assert (state.measured, state.measured_as) == (120, 60)


def test_x24_what_is_no_usage_is_refused() -> None:
    with pytest.raises(TypeError, match=r"usage\.prompt_tokens"):
        TrimState(counted=60).calibrated({"tokens": 5})


def test_x24_an_exact_count_is_corrected_downwards_by_what_is_beside_the_messages() -> None:
    """Its messages are exact; the tools may be counted too high."""
    messages = [{"role": "user", "content": "word " * 20} for _ in range(5)]
    tools = [{"type": "function", "function": {"name": "f", "description": "word " * 20}}]

    def trim(state: TrimState) -> Trimmed[dict[str, str]]:
        return trim_messages(
            messages, model="gpt-4o", max_tokens=150, reserve=0, tools=tools, state=state
        )

    first = trim(TrimState())
    assert trim(first.state.calibrated(first.tokens - 9)).limit == 150 + 9
    assert 150 < trim(first.state.calibrated(1)).limit < 150 + 50
