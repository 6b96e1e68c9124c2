from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kefu.context import Message, build_llm_messages
from kefu.context.tokens import estimate_message_tokens
from kefu.messages import Role


def user(content: str) -> Message:
    return Message("user", content)


def assistant(content: str) -> Message:
    return Message("assistant", content)


LETTERS = [user("AAAA"), assistant("BBBB"), user("CCCC"), assistant("DDDD")]


def contents(messages: list[Message]) -> list[str]:
    return [message.content for message in messages]


def test_a_conversation_within_budget_is_assembled_whole() -> None:
    """REQ-AIS-MULTITURN, S1 标准多轮组装."""
    history = [user("介绍林默"), assistant("林默是28岁侦探")]
    built = build_llm_messages("<identity>AI</identity>", history, "他的性格？", 10000)
    assert built == [
        Message("system", "<identity>AI</identity>"),
        Message("user", "介绍林默"),
        Message("assistant", "林默是28岁侦探"),
        Message("user", "他的性格？"),
    ]


@pytest.mark.parametrize(
    ("budget", "kept"),
    [
        (-1, ["S", "E"]),
        (0, ["S", "E"]),
        (1, ["S", "E"]),
        (2, ["S", "E"]),
        (3, ["S", "DDDD", "E"]),
        (4, ["S", "CCCC", "DDDD", "E"]),
        (5, ["S", "BBBB", "CCCC", "DDDD", "E"]),
        (6, ["S", "AAAA", "BBBB", "CCCC", "DDDD", "E"]),
    ],
)
def test_the_oldest_messages_go_first_until_the_total_fits(budget: int, kept: list[str]) -> None:
    """S2 Token 超预算裁剪最早历史, X1, X3: a total that equals the budget fits."""
    built = build_llm_messages("S", LETTERS, "E", budget)
    assert contents(built) == kept
    assert built[0].role == "system"
    assert built[-1] == user("E")


def test_an_empty_history_leaves_system_and_current() -> None:
    """S3 空历史."""
    built = build_llm_messages("system text", [], "你好", 10000)
    assert built == [Message("system", "system text"), Message("user", "你好")]


@pytest.mark.parametrize(("size", "kept"), [(1, 10), (3, 3), (5, 2), (10, 1), (11, 0)])
def test_what_is_left_beside_system_and_current_goes_to_the_newest(size: int, kept: int) -> None:
    """S4 预算不足以容纳全部历史时强制保留 system + current: these take 150 tokens of 160."""
    system, current = "s" * 400, "c" * 200
    history = [Message("assistant" if i % 2 else "user", str(i).ljust(size * 4)) for i in range(10)]
    built = build_llm_messages(system, history, current, 160)
    assert built == [Message("system", system), *history[10 - kept :], user(current)]


def test_system_and_current_stay_even_over_budget() -> None:
    """X1, S4: then no other message is kept, not even one without tokens."""
    built = build_llm_messages("s" * 400, [user("x"), assistant("")], "c" * 200, 149)
    assert contents(built) == ["s" * 400, "c" * 200]


def test_an_empty_system_prompt_keeps_its_place() -> None:
    """X1: the order does not depend on the contents."""
    assert contents(build_llm_messages("", LETTERS[:2], "", 2)) == ["", "AAAA", "BBBB", ""]


def test_inputs_are_left_alone() -> None:
    history = list(LETTERS)
    build_llm_messages("S", history, "E", 3)
    assert history == LETTERS


texts = st.text(max_size=40)
roles: st.SearchStrategy[Role] = st.sampled_from(["user", "assistant"])
histories = st.lists(st.tuples(roles, texts).map(lambda said: Message(*said)), max_size=12)


@given(texts, histories, texts, st.integers(-5, 120))
def test_the_longest_end_of_the_history_that_fits_is_kept(
    system: str, history: list[Message], current: str, budget: int
) -> None:
    """X1: compared with a slow implementation, which drops the oldest message until the
    total fits.
    """
    expected = [Message("system", system), *history, user(current)]
    while sum(estimate_message_tokens(m.content) for m in expected) > budget and len(expected) > 2:
        del expected[1]
    assert build_llm_messages(system, history, current, budget) == expected
