"""A text of any size is counted in bounded time, and the choice of messages stays the same."""

from __future__ import annotations

import pytest

from kefu.context import (
    Budget,
    Message,
    MessageContextManager,
    MessageCounter,
    Trimmed,
    message_counter,
    trim_messages,
)
from kefu.context.tokens import COUNTERS, counter, estimate_message_tokens

ROOM = 4000
LONG = "Where is my order? \u8ba2\u5355\u5728\u54ea\u91cc\uff1f " * 100_000
SHAPES = ("own", "dicts")


def sent(texts: list[str], count: MessageCounter, shape: str) -> Trimmed[object]:
    talk: list[object] = [Message("user", text) for text in texts]
    if shape == "dicts":
        talk = [{"role": "user", "content": text} for text in texts]
    return trim_messages(talk, Budget(ROOM, reserve=0), counter=count)


@pytest.mark.parametrize("shape", SHAPES)
def test_long_text_that_cannot_fit_is_counted_in_samples(shape: str) -> None:
    """X17: a message of megabytes takes no longer than one of 65,536 characters."""
    read = 0

    def count(text: str) -> int:
        nonlocal read
        read += len(text)
        return estimate_message_tokens(text)

    trimmed = sent(["Hello", LONG], MessageCounter(count, samples=True), shape)
    assert trimmed.over_budget
    assert trimmed.dropped == [trimmed.dropped[0]]
    assert read < 100_000


@pytest.mark.parametrize("name", [*COUNTERS, "tiktoken:o200k_base"])
def test_long_text_has_about_the_tokens_of_a_whole_count(name: str) -> None:
    whole = counter(name).count(LONG)
    assert sent([LONG], message_counter(name), "own").tokens == pytest.approx(whole, rel=0.05)


@pytest.mark.parametrize("name", ["calibrated_claude", "tiktoken:o200k_base", "bytes4"])
@pytest.mark.parametrize("shape", SHAPES)
def test_long_text_never_fits_whatever_its_samples_are(name: str, shape: str) -> None:
    """Spaces are the cheapest text there is: 128 of them are one token."""
    spaces = " " * 3_000_000
    old = sent([spaces, "And now?"], message_counter(name), shape)
    assert len(old) == 1
    assert not old.over_budget
    assert sent([spaces], message_counter(name), shape).over_budget


def test_text_that_may_fit_is_counted_as_a_whole() -> None:
    text = "a" * 1_500_000
    budget = Budget(400_000, reserve=0)
    trimmed = trim_messages([Message("user", text)], budget, counter="bytes4")
    assert trimmed.tokens == 375_000
    assert not trimmed.over_budget


def test_function_of_a_caller_is_given_the_whole_text() -> None:
    """Nobody knows how such a function counts: here, one token for each text."""
    trimmed = trim_messages([Message("user", LONG)], Budget(10, reserve=0), counter=lambda _: 1)
    assert (trimmed.tokens, trimmed.over_budget) == (1, False)


def test_long_message_of_a_running_conversation_is_left_out() -> None:
    talk = MessageContextManager(Budget(ROOM, reserve=0), counter="bytes4")
    talk.add(Message("user", LONG))
    talk.add(Message("user", "Hello"))
    assert list(talk.window().messages) == [Message("user", "Hello")]
