"""The scenarios of the context manager's specification, by name, and related cases."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kefu.context import (
    BYTES4,
    CALIBRATED,
    STRATEGIES,
    Budget,
    Message,
    MessageContextManager,
    MessageCounter,
    ToolCall,
    TrimState,
    message_counter,
    tokens,
    trim_messages,
    window_for,
)
from kefu.context.tokens import estimate_message_tokens
from tests.unit.context.histories import check, cost, histories


def user(content: str, pinned: bool = False) -> Message:
    return Message("user", content, pinned=pinned)


def assistant(content: str) -> Message:
    return Message("assistant", content)


def manager(room: int, system: str = "SSSS", strategy: str = "fifo") -> MessageContextManager:
    """A manager whose counter takes one token for four letters."""
    return MessageContextManager(Budget(room, reserve=0), system, strategy, "bytes4")


def contents(messages: object) -> list[str]:
    assert hasattr(messages, "__iter__")
    return [message.content for message in messages]


class Counting:
    """A text counter that records its inputs."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, text: str) -> int:
        self.texts.append(text)
        return estimate_message_tokens(text)


def test_add_message_appends_counts_and_tells_whether_the_limit_is_passed() -> None:
    """添加消息, X6: adding never trims."""
    talk = manager(room=3)
    talk.add(user("aaaa"))
    talk.add(assistant("bbbb"))
    assert (talk.over_limit, talk.state().used) == (False, 3)
    talk.add(user("cccc"))
    assert (talk.over_limit, talk.state().used) == (True, 4)
    assert (talk.state().used, talk.state().messages) == (4, 4)


def test_window_has_what_is_within_the_limit_in_order() -> None:
    """获取上下文, FIFO 裁剪."""
    talk = manager(room=3)
    for message in (user("aaaa"), assistant("bbbb"), user("cccc"), assistant("dddd")):
        talk.add(message)
    window = talk.window()
    assert contents(window.messages) == ["SSSS", "cccc", "dddd"]
    assert contents(window.dropped) == ["aaaa", "bbbb"]
    assert talk.state().messages == 5


def test_clear_removes_history_resets_counts_and_keeps_the_system_prompt() -> None:
    """清空上下文."""
    talk = manager(room=9)
    talk.add(user("aaaa"))
    talk.window()
    talk.calibrate(7)
    talk.clear()
    assert contents(talk.window().messages) == ["SSSS"]
    assert (talk.state().used, talk.state().roles) == (1, {"system": 1})


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_system_prompt_is_kept_and_not_up_for_trimming(strategy: str) -> None:
    """保留系统提示词, 系统提示锁定."""
    talk = manager(room=0, strategy=strategy)
    talk.add(user("aaaa"))
    talk.add(user("bbbb"))
    window = talk.window()
    assert contents(window.messages) == ["SSSS", "bbbb"]
    assert window.over_budget
    assert contents([m for m in talk.window().messages if m.role == "system"]) == ["SSSS"]
    talk.compact()
    assert contents(talk.window().messages) == ["SSSS", "bbbb"]


def test_tool_calls_count_name_arguments_and_result() -> None:
    """工具调用计数, X7."""
    talk = manager(room=99)
    call = Message("assistant", "aaaa", (ToolCall("1", "look", '{"a": 1}'),))
    assert talk.can_add(call).tokens == 1 + 1 + 2
    talk.add(call)
    talk.add(Message("tool", "result!!", tool_call_id="1"))
    assert talk.state().used == 1 + 4 + 2


def test_reasoning_counts_with_the_tool_calls_that_it_is_sent_with() -> None:
    count = message_counter("chars4")
    call = Message("assistant", "", (ToolCall("1", "look", "{}"),))
    thought = (("reasoning", "a" * 400),)
    assert count(call._replace(reasoning=thought)) == count(call) + 100
    assert count(assistant("aaaa")._replace(reasoning=thought)) == count(assistant("aaaa"))


def test_adding_counts_the_new_message_alone() -> None:
    """增量更新, X6: getting a window and compacting count nothing."""
    count = Counting()
    talk = MessageContextManager(Budget(3, reserve=0), "SSSS", counter=MessageCounter(count))
    for text in ("aaaa", "bbbb", "cccc", "dddd"):
        talk.add(user(text))
        talk.window()
    talk.compact()
    talk.add(user("eeee"))
    assert count.texts == ["SSSS", "aaaa", "bbbb", "cccc", "dddd", "eeee"]


def test_important_messages_stay_whoever_marked_them() -> None:
    """保留重要消息: marked by the user, at once or later, or by the service."""
    talk = manager(room=5, strategy="keep_important")
    for message in (user("aaaa", pinned=True), assistant("bbbb"), Message("system", "note")):
        talk.add(message)
    for text in ("cccc", "dddd", "eeee"):
        talk.add(user(text))
    assert contents(talk.window().messages) == ["SSSS", "aaaa", "note", "dddd", "eeee"]
    talk.pin(2)
    assert contents(talk.window().messages) == ["SSSS", "aaaa", "bbbb", "note", "eeee"]
    talk.pin(1, pinned=False)
    assert contents(talk.window().messages) == ["SSSS", "bbbb", "note", "dddd", "eeee"]


def test_pinned_messages_come_newest_first_when_not_all_fit() -> None:
    """Requirement X10."""
    talk = manager(room=4, strategy="keep_important")
    for text in ("aaaa", "bbbb", "cccc"):
        talk.add(user(text, pinned=True))
    talk.add(assistant("dddd"))
    talk.add(user("eeee"))
    assert contents(talk.window().messages) == ["SSSS", "bbbb", "cccc", "eeee"]


def test_a_sliding_window_has_the_newest_messages_as_many_as_the_limit_allows() -> None:
    """滑动窗口: N follows from the token limit, or is `max_messages` if that is less; in whole
    turns.
    """
    budget = Budget(5, reserve=0, max_messages=3)
    talk = MessageContextManager(budget, "SSSS", "sliding_window", "bytes4")
    for turn in "abcd":
        talk.add(user(turn * 4))
        talk.add(assistant(turn.upper() * 4))
    assert contents(talk.window().messages) == ["SSSS", "dddd", "DDDD"]
    talk.budget = budget._replace(max_messages=0)
    assert contents(talk.window().messages) == ["SSSS", "cccc", "CCCC", "dddd", "DDDD"]


def test_the_latest_user_message_is_kept_before_anything_else() -> None:
    """用户消息优先, X10: also before later messages of the assistant."""
    talk = manager(room=2)
    talk.add(user("aaaa"))
    talk.add(assistant("bbbb"))
    assert contents(talk.window().messages) == ["SSSS", "aaaa"]
    assert not talk.window().over_budget


def test_a_tool_call_and_its_results_go_or_stay_together() -> None:
    """工具结果优先, X9: also for parallel calls."""
    calls = (ToolCall("1", "f", ""), ToolCall("2", "f", ""))
    group = [Message("assistant", "", calls)]
    group += [Message("tool", "rrrr", tool_call_id=id) for id in "21"]
    for room, kept in ((6, 3), (5, 0)):  # system, question, answer, and the group of 4
        talk = manager(room=room + 1)
        for message in (user("aaaa"), *group, assistant("bbbb")):
            talk.add(message)
        roles = [message.role for message in talk.window().messages]
        assert roles.count("tool") + len(group[0].tool_calls) * (kept > 0) == kept + (kept > 0)


def test_a_group_at_the_end_stays_open_and_is_broken_once_something_follows() -> None:
    """Requirements X9, X10 and X12."""
    talk = manager(room=99)
    talk.add(user("aaaa"))
    talk.add(Message("assistant", "", (ToolCall("1", "f", ""), ToolCall("2", "f", ""))))
    talk.add(Message("tool", "rrrr", tool_call_id="1"))
    assert len(talk.window().messages) == 4
    talk.add(user("bbbb"))
    window = talk.window()
    assert contents(window.messages) == ["SSSS", "aaaa", "bbbb"]
    assert window.reasons == {"broken_tool_group": 2}
    assert talk.state().used == 3


def test_state_tells_usage_counts_by_role_and_what_is_left_out() -> None:
    """Token 使用统计, 消息计数, X6."""
    talk = manager(room=3)
    for message in (user("aaaa"), assistant("bbbb"), user("cccc")):
        talk.add(message)
    state = talk.state()
    assert (state.used, state.remaining, state.limit) == (4, 0, 3)
    assert state.roles == {"system": 1, "user": 2, "assistant": 1}
    assert (state.messages, state.dropped, state.over_budget) == (4, 2, False)
    assert state.resolved


def test_can_add_predicts_and_warns_ahead_of_the_limit() -> None:
    """预估容量: the prediction adds nothing."""
    talk = manager(room=10)
    assert talk.can_add(user("a" * 28)) == (True, False, 7, 2)
    assert talk.can_add(user("a" * 32)) == (True, True, 8, 1)
    assert talk.can_add(user("a" * 40)) == (False, True, 10, 0)
    assert talk.state().messages == 1


def test_compact_removes_what_the_window_leaves_out_and_reports_each() -> None:
    """X6: id, tokens, reason, summary."""
    talk = manager(room=3)
    for message in (user("a" * 8), Message("tool", "rrrr"), user("cccc"), user("dddd")):
        talk.add(message)
    earlier = talk.window()
    removed = talk.compact().removed
    assert removed == ((1, 2, "budget", None), (2, 1, "budget", None))
    assert talk.compact().removed == ()
    assert contents(talk.window().messages) == ["SSSS", "cccc", "dddd"]
    assert talk.state().used == 3
    assert contents(earlier.dropped) == ["a" * 8, "rrrr"]


def test_a_window_stays_as_it_was_when_the_conversation_goes_on() -> None:
    talk = manager(room=2)
    talk.add(user("aaaa"))
    window = talk.window()
    talk.add(user("bbbb"))
    talk.compact()
    talk.clear()
    assert contents(window.messages) == ["SSSS", "aaaa"]


def test_the_providers_count_replaces_the_estimate_up_to_then() -> None:
    """X13: only later messages are still estimated."""
    talk = manager(room=1000)
    talk.add(user("a" * 400))
    assert talk.window().tokens == 101
    talk.calibrate(202)
    assert talk.window().tokens == 202
    talk.add(assistant("b" * 40))
    assert talk.window().tokens == 212
    talk.calibrate(262)
    talk.add(user("c" * 40))
    assert (talk.window().tokens, talk.state().used) == (272, 272)
    talk.compact()
    assert talk.state().used == 272


def test_a_correction_changes_what_fits() -> None:
    """X13: if a prompt has twice the estimated tokens, trimming starts at half the size."""
    talk = manager(room=100)
    for turn in range(20):
        talk.add(user(f"{turn:04}" * 5))
    before = len(talk.window().messages)
    talk.calibrate(2 * talk.window().tokens)
    assert len(talk.window().messages) == pytest.approx(before / 2, abs=1)
    assert talk.window().tokens <= 100


def test_usage_that_says_nothing_changes_nothing() -> None:
    talk = manager(room=100)
    talk.calibrate(50)
    talk.add(user("aaaa"))
    talk.window()
    talk.calibrate(0)
    assert talk.state().used == 2


def test_usage_is_that_of_the_window_not_of_what_it_leaves_out() -> None:
    """Requirement X13."""
    talk = manager(room=10, system="")
    for _ in range(10):
        talk.add(user("a" * 20))
    assert talk.window().tokens == 10
    talk.calibrate(20)
    assert talk.state().used == 100


def test_usage_of_a_prompt_from_before_a_clear_changes_nothing() -> None:
    """X13, 清空上下文."""
    talk = manager(room=100)
    talk.add(user("aaaa"))
    talk.window()
    talk.clear()
    talk.add(user("bbbb"))
    talk.calibrate(50)
    assert talk.state().used == 2


def test_usage_has_in_it_what_the_chat_format_adds_once() -> None:
    """Requirement X13."""
    counter = MessageCounter(estimate_message_tokens, 1, 3)
    talk = MessageContextManager(Budget(1000, reserve=0), counter=counter)
    talk.add(user("a" * 400))
    assert talk.window().tokens == 104
    talk.calibrate(206)
    assert (talk.window().tokens, talk.state().used) == (206, 206)


def test_exact_counters_add_what_the_chat_format_adds() -> None:
    """X7: 4 per message and 3 a prompt, unless switched off."""
    exact = message_counter("tiktoken:cl100k_base")
    assert (exact.per_message, exact.priming) == (4, 3)
    assert message_counter("tiktoken:cl100k_base", overhead=False).per_message == 0
    assert message_counter("chars4").per_message == 0
    talk = MessageContextManager(Budget(100), "hello", counter=exact)
    talk.add(user("hello world"))
    assert talk.state().used == 3 + (4 + 1) + (4 + 2)


def test_a_strategy_or_counter_that_does_not_exist_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"There are: fifo, .*summary"):
        MessageContextManager(Budget(9), strategy="lifo")
    with pytest.raises(ValueError, match="no token counter"):
        MessageContextManager(Budget(9), counter="guess")


@pytest.mark.parametrize("name", STRATEGIES)
@given(whole=histories, room=st.integers(0, 60))
@settings(max_examples=60, deadline=None)
def test_at_every_step_the_manager_has_the_window_of_the_stateless_strategy(
    name: str, whole: list[Message], room: int
) -> None:
    """X6, X19: after every single message, and valid."""
    budget = Budget(room, reserve=0)
    talk = MessageContextManager(budget, strategy=name, counter=BYTES4)
    for so_far, message in enumerate(whole, 1):
        talk.add(message)
        window = talk.window()
        assert window == window_for(whole[:so_far], budget, name, BYTES4)
        check(window, whole[:so_far], room, BYTES4)


@given(whole=histories, room=st.integers(0, 40))
def test_a_compacted_conversation_is_its_window(whole: list[Message], room: int) -> None:
    """X6: and the token sums are consistent."""
    talk = manager(room, system="")
    for message in whole:
        talk.add(message)
    window = talk.window()
    removed = talk.compact().removed
    assert sorted(r.id for r in removed) == [
        at for run in window.left_out for at in range(run.start, run.stop)
    ]
    assert [r.tokens for r in removed] == [cost([whole[r.id]], BYTES4) for r in removed]
    assert talk.window().messages == window.messages
    assert talk.state().used == cost(list(window.messages), BYTES4)


async def test_add_returns_the_id_that_pin_takes_even_after_a_summary() -> None:
    """X6, X9: a summary has an id of its own."""

    async def told(messages: Sequence[Message], previous: str) -> str:
        return "told"

    talk = MessageContextManager(Budget(60, reserve=0), "S", "keep_important", BYTES4)
    for turn in range(17):
        talk.add(user(f"{turn:020}"))
    assert (await talk.summarize(told)).removed
    number = talk.add(user("My order is A4711."))
    talk.pin(number)
    pinned = [message for message in talk.messages if message.pinned]
    assert [message.content for message in pinned] == ["My order is A4711."]
    with pytest.raises(ValueError, match="no message with the id 999"):
        talk.pin(999)


def test_a_manager_gives_its_messages_and_their_number() -> None:
    """So that they can be stored, and added to another manager."""
    talk = MessageContextManager(Budget(60, reserve=0), "S", counter=BYTES4)
    question = user("q")
    talk.add(question)
    assert talk.messages == (Message("system", "S"), question)
    assert len(talk) == 2


def test_counters_are_named_in_one_way_everywhere() -> None:
    """X7: by a name, a text counter, a message counter, or a function."""
    whole = [user("a" * 40), user("b" * 40), user("c")]
    for counter in ("bytes4", tokens.counter("bytes4"), BYTES4, estimate_message_tokens):
        talk = MessageContextManager(Budget(15, reserve=0), counter=counter)
        for message in whole:
            talk.add(message)
        sent = trim_messages(whole, Budget(15, reserve=0), counter=counter)
        assert list(talk.window().messages) == sent == whole[1:]
        assert talk.state().used == 21


def test_a_manager_counts_by_the_model_of_its_budget() -> None:
    """精确 Token 计数: Chinese has more tokens for gpt-4 than for gpt-4o."""
    used = {}
    for model in ("gpt-4", "gpt-4o", "claude-sonnet-5", "LongCat-2.0"):
        talk = MessageContextManager(Budget.for_model(model, 4000))
        talk.add(user("我上周下的订单还没有收到，请问什么时候能送达？" * 10))
        used[model] = talk.state().used
    assert used["gpt-4o"] == used["LongCat-2.0"] < used["claude-sonnet-5"] < used["gpt-4"]


def long_talk(budget: Budget, count: MessageCounter, calibrate: bool) -> tuple[float, int]:
    """For 200 prompts: the share that repeats the previous prompt, and how often the start
    moved.
    """
    talk = MessageContextManager(budget, "You answer for a shop. " * 40, counter=count)
    dice, before = Random(1), list[Message]()
    repeated = total = moves = 0
    for turn in range(200):
        talk.add(user(f"{turn}: {'Where is my order? I am waiting. ' * (5 + turn % 4)}"))
        window = talk.window()
        assert not window.over_budget
        prompt = list(window.messages)
        shared = 0
        while shared < min(len(prompt), len(before)) and prompt[shared] is before[shared]:
            shared += 1
        repeated += sum(map(count, prompt[:shared]))
        total += sum(map(count, prompt))
        moves += bool(before) and len(before) > 1 and prompt[1] is not before[1]
        if calibrate:
            talk.calibrate(int(window.tokens * dice.uniform(0.98, 1.02)) + 1)
        talk.add(assistant(f"{turn}: {'It left the warehouse on Tuesday. ' * (4 + turn % 3)}"))
        before = prompt
    return repeated / total, moves


def test_a_correction_by_usage_does_not_move_the_start_of_prompts() -> None:
    """X11, X13: a cache can serve nine tenths, although each count differs by 2 %."""
    budget = Budget(4000, reserve=0, trim_step=0.3)
    plain, moves = long_talk(budget, CALIBRATED, calibrate=False)
    corrected, moves_then = long_talk(budget, CALIBRATED, calibrate=True)
    assert plain >= 0.9
    assert corrected >= 0.9
    assert moves_then <= moves + 2


def test_a_stored_state_goes_on_with_the_cut_and_the_correction() -> None:
    """X11, X13: another process makes the same prompt from the stored state."""
    budget = Budget(400, reserve=0, trim_step=0.4)
    talk = MessageContextManager(budget, "S", counter=BYTES4)
    for turn in range(60):
        talk.add(user(f"{turn:040}"))
        window = talk.window()
        if turn == 59:
            talk.calibrate(window.tokens * 2)
    text = talk.dump().dump()
    assert len(text) < 300
    other = MessageContextManager(budget, "", counter=BYTES4)
    for message in talk.messages:
        other.add(message)
    other.load(TrimState.load(text))
    assert list(other.window().messages) == list(talk.window().messages)
    assert other.state().used > 1.5 * sum(map(BYTES4, other.messages))
