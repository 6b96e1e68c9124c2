"""C7, C10 to C12: what of a client's messages the model is asked, and in which words."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from kefu.context import BYTES4, Budget, Message
from kefu.errors import InvalidRequest
from kefu.prompt import (
    OFF,
    SUMMARY,
    ClientSystem,
    PromptPolicy,
    TrimPolicy,
    build_prompt,
    build_prompt_with_summary,
    request_body,
    tightened,
)

ASKED = Message("user", "How much?")
THEIRS = Message("system", "theirs")
OURS = Message("system", "ours")


def user(*texts: str) -> list[Message]:
    return [Message("user", text) for text in texts]


async def tell(messages: Sequence[Message], previous: str) -> str:
    return f"{len(messages)} told"


async def fail(messages: Sequence[Message], previous: str) -> str:
    raise TimeoutError


@pytest.mark.parametrize(
    ("policy", "ours", "theirs", "system", "dropped"),
    [
        ("auto", "ours", "theirs", "ours", True),
        ("auto", "ours", "", "ours", False),
        ("auto", "", "theirs", "theirs", False),
        ("append", "ours", "theirs", "ours\n\ntheirs", False),
        ("append", "", "theirs", "theirs", False),
        ("append", "ours", "", "ours", False),
        ("drop", "ours", "theirs", "ours", True),
        ("drop", "", "theirs", "", True),
        ("reject", "ours", "", "ours", False),
        ("auto", "all of theirs and ours", "theirs", "all of theirs and ours", False),
    ],
)
def test_one_system_prompt_is_first_whoever_wrote_it(
    policy: ClientSystem, ours: str, theirs: str, system: str, dropped: bool
) -> None:
    """And the prompt says whether the client's was left out."""
    sent = [Message("system", theirs), ASKED] if theirs else [ASKED]
    prompt = build_prompt(sent, PromptPolicy(ours, policy))
    assert list(prompt.messages) == [*([Message("system", system)] if system else []), ASKED]
    assert prompt.client_system_dropped is dropped


def test_a_client_that_sends_a_system_message_is_told_where_it_is_not_wanted() -> None:
    with pytest.raises(InvalidRequest) as refused:
        build_prompt([THEIRS, ASKED], PromptPolicy(client_system="reject"))
    assert refused.value.param == "messages.0.role"


def test_an_empty_system_message_is_none() -> None:
    prompt = build_prompt([Message("system", ""), ASKED], PromptPolicy(client_system="reject"))
    assert (list(prompt.messages), prompt.client_system_dropped) == ([ASKED], False)


def test_unless_told_otherwise_six_thousand_characters_are_sent() -> None:
    """X5: the system prompt counts."""
    turns = user("a" * 3000, "b" * 2997)
    assert len(build_prompt(turns, PromptPolicy("ppp")).messages) == 3
    cut = build_prompt(turns, PromptPolicy("pppp"))
    assert list(cut.messages) == [Message("system", "pppp"), turns[1]]
    assert cut.window.reasons == {"budget": 1}


def trimmed(strategy: str, room: int = 4) -> PromptPolicy:
    return PromptPolicy("ours", trim=TrimPolicy(strategy, Budget(room, reserve=0), BYTES4))


TURNS = user("aaaa", "bbbb", "cccc", "dddd", "eeee", "ffff")


@pytest.mark.parametrize("strategy", ["fifo", SUMMARY])
def test_what_has_no_room_is_left_out(strategy: str) -> None:
    """C12: where there is to be a summary, this is what is sent without one."""
    prompt = build_prompt(TURNS, trimmed(strategy))
    assert list(prompt.messages) == [OURS, *TURNS[3:]]
    assert list(prompt.window.dropped) == TURNS[:3]


def test_trimming_can_be_off() -> None:
    prompt = build_prompt(TURNS, trimmed(OFF, room=1))
    assert list(prompt.messages) == [OURS, *TURNS]
    assert (prompt.window.left_out, prompt.window.over_budget) == ((), False)


async def test_a_summary_stands_behind_the_system_prompt() -> None:
    """X9."""
    turns = TURNS * 20
    prompt = await build_prompt_with_summary([THEIRS, *turns], trimmed(SUMMARY, 80), tell)
    assert prompt.client_system_dropped
    assert prompt.messages[0] == OURS
    told = len(prompt.window.dropped)
    assert f"{told} told" in prompt.messages[1].content
    assert list(prompt.messages[2:]) == turns[told:]
    assert prompt.window.reasons == {"summarized": told}


async def test_without_a_summary_the_prompt_is_the_one_that_needs_none() -> None:
    """X9."""
    turns, policy = TURNS * 20, trimmed(SUMMARY, 80)
    prompt = await build_prompt_with_summary(turns, policy, fail)
    assert prompt.messages == build_prompt(turns, policy).messages
    assert prompt.window.fallback == "failed: TimeoutError"


@pytest.mark.parametrize("strategy", ["fifo", "sliding_window", "keep_important", "v1", SUMMARY])
def test_a_prompt_that_the_model_found_too_long_is_halved(strategy: str) -> None:
    """C9: by what was sent, whatever the budget was; all else of the policy stays."""
    policy = PromptPolicy("ours", trim=TrimPolicy(strategy, Budget(1000, reserve=900), BYTES4))
    first = build_prompt(TURNS, policy)
    half = tightened(policy, first)
    assert (first.window.tokens, half.trim.budget.room) == (7, 3)
    assert 0 < build_prompt(TURNS, half).window.tokens <= 3
    assert (half.system_prompt, half.trim.strategy) == ("ours", strategy)
    assert half.trim.counter is BYTES4


def test_a_prompt_that_was_not_trimmed_is_halved_by_characters() -> None:
    """C9."""
    policy = trimmed(OFF)
    half = tightened(policy, build_prompt(TURNS, policy))
    assert (half.trim.strategy, half.trim.budget.room) == ("v1", 14)
    assert list(build_prompt(TURNS, half).messages) == [OURS, *TURNS[-2:]]


@pytest.mark.parametrize("strategy", ["fifo", OFF])
def test_half_of_nothing_is_still_a_budget(strategy: str) -> None:
    policy = PromptPolicy(trim=TrimPolicy(strategy))
    half = tightened(policy, build_prompt(user(""), policy))
    assert half.trim.budget.room == 1


def test_the_body_holds_what_is_wanted_and_nothing_else() -> None:
    """C7: as UTF-8, with the usage of the answer asked for; marks of ours stay here."""
    told = Message("user", "说过\n的话", summary=True)
    body = request_body([OURS, told, Message("user", "?", pinned=True)], "model-1", 0.5, 300)
    assert "说过".encode() in body
    assert json.loads(body) == {
        "model": "model-1",
        "messages": [
            {"role": "system", "content": "ours"},
            {"role": "user", "content": "说过\n的话"},
            {"role": "user", "content": "?"},
        ],
        "temperature": 0.5,
        "max_tokens": 300,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
