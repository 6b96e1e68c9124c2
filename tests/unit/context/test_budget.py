from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kefu.context import BYTES4, Budget, Message, MessageContextManager, window_for


def test_a_fifth_is_kept_free_for_the_answer_rounded_up() -> None:
    """保留余量, X8."""
    assert Budget(8192).room == 8192 - 1639
    assert Budget(8192, reserve=1000).room == 7192
    assert Budget(8192, reserve=0).room == 8192
    assert Budget(10, reserve=50).room == 0


def test_a_model_has_its_own_limit() -> None:
    """模型默认限制, X8."""
    assert Budget.for_model("gpt-4o").limit == 128_000
    unknown = Budget.for_model("nobody-knows")
    assert (unknown.limit, unknown.resolved) == (8192, False)
    assert MessageContextManager(unknown).state().resolved is False


def test_a_limit_of_ones_own_never_exceeds_the_models() -> None:
    """自定义限制, X8."""
    assert Budget.for_model("gpt-4o", max_tokens=4000).limit == 4000
    assert Budget.for_model("gpt-4", max_tokens=1_000_000).limit == 8192


@pytest.mark.parametrize(
    ("config", "budget"),
    [
        ({"contextLength": 32000}, Budget(32000)),
        ({"model": "x", "contextLength": 32000, "maxTokens": 50000}, Budget(32000, model="x")),
        (
            {"model": "gpt-4o", "maxTokens": 5000, "temperature": "hot"},
            Budget(5000, model="gpt-4o"),
        ),
        ({"context_length": 900, "reserve": 0, "trim_step": 0.2}, Budget(900, 0, 0.2)),
        ({"contextLength": 900, "trimStep": 0.5, "maxMessages": 6}, Budget(900, None, 0.5, 6)),
        ({}, Budget(8192, resolved=False)),
    ],
)
def test_a_configuration_of_the_typescript_version_is_taken_as_it_is(
    config: dict[str, object], budget: Budget
) -> None:
    """配置格式兼容, X8."""
    assert Budget.from_config(config) == budget


@pytest.mark.parametrize("value", ["128k", True, [1]])
def test_a_limit_that_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="contextLength"):
        Budget.from_config({"contextLength": value})


@pytest.mark.parametrize("step", [-0.1, 1.0])
def test_a_step_is_a_part_of_the_room(step: float) -> None:
    with pytest.raises(ValueError, match="trim_step"):
        Budget(100, trim_step=step)


@pytest.mark.parametrize("strategy", ["fifo", "sliding_window"])
def test_the_start_of_the_prompt_stays_the_same_for_a_step(strategy: str) -> None:
    """X11: without a step the start changes with every turn."""
    starts = {}
    for step in (0.0, 0.2):
        budget = Budget(1000, reserve=0, trim_step=step, max_messages=60)
        talk = MessageContextManager(budget, "S", strategy, BYTES4)
        seen = []
        for turn in range(200):
            talk.add(Message("user", f"{turn:040}"))
            talk.add(Message("assistant", f"{turn:040}"))
            window = talk.window()
            assert window.tokens <= 1000
            assert turn < 30 or window.tokens > 450
            seen.append(window.messages[1].content)
        starts[step] = len(set(seen))
    assert starts[0.0] > 140
    assert starts[0.2] <= 36  # 12 of 400 messages at once, or 20 of them


@given(st.lists(st.integers(1, 60), min_size=1, max_size=60), st.sampled_from([0.1, 0.2, 0.5]))
@settings(deadline=None)
def test_a_step_never_lets_too_much_through_nor_drops_much_more(
    sizes: list[int], step: float
) -> None:
    """X11: it drops at most a step and a turn more than without a step."""
    room = 100
    messages = [Message("user", "aaaa" * size) for size in sizes]
    plain = window_for(messages, Budget(room, reserve=0), "fifo", BYTES4)
    stepped = window_for(messages, Budget(room, reserve=0, trim_step=step), "fifo", BYTES4)
    assert stepped.tokens <= plain.tokens <= room
    assert len(plain.messages) == 1 or stepped.tokens > plain.tokens - step * room - 60
