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
