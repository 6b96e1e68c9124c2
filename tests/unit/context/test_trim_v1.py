from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kefu.context import Message, ToolCall, Window, truncate_v1
from kefu.context.tokens import utf16_length
from kefu.messages import Role
from tests.fakes.growth import assert_linear


def system(size: int) -> Message:
    return Message("system", "s" * size)


def user(size: int, letter: str = "u") -> Message:
    return Message("user", letter * size)


def assistant(size: int, letter: str = "a") -> Message:
    return Message("assistant", letter * size)


def pair(size: int, letter: str) -> list[Message]:
    """A question and its answer, which have `size` characters together."""
    return [user(size // 2, letter), assistant(size - size // 2, letter.upper())]


def split(window: Window) -> tuple[list[Message], list[Message]]:
    return list(window.messages), list(window.dropped)


def total(messages: Sequence[Message]) -> int:
    return sum(utf16_length(message.content) for message in messages)


def test_exactly_6000_characters_are_left_untouched() -> None:
    """Requirements X5 and C11."""
    messages = [system(100), *pair(2000, "p"), *pair(2000, "q"), user(1900)]
    assert total(messages) == 6000
    assert split(truncate_v1(messages)) == (messages, [])


def test_one_character_more_removes_the_oldest_turn() -> None:
    """Requirements X5 and C11."""
    messages = [system(100), *pair(2000, "p"), *pair(2000, "q"), user(1901)]
    kept = [messages[0], *messages[3:]]
    assert split(truncate_v1(messages)) == (kept, messages[1:3])


def test_8600_characters_become_4600() -> None:
    """X5: the system prompt has 100 characters, four pairs have 2000 each, and the question has
    500.
    """
    messages = [system(100), *(m for p in "abcd" for m in pair(2000, p)), user(500)]
    assert total(messages) == 8600
    window = truncate_v1(messages)
    assert total(window.messages) == 4600
    assert split(window) == ([messages[0], *messages[5:]], messages[1:5])


def test_a_cut_that_lands_on_exactly_6000_goes_one_turn_further() -> None:
    """X5: the total must be below the limit."""
    messages = [system(100), *pair(1000, "p"), *pair(2000, "q"), *pair(3000, "r"), user(900)]
    assert total(messages) - 1000 == 6000
    window = truncate_v1(messages)
    assert split(window) == ([messages[0], *messages[5:]], messages[1:5])


def test_a_leading_greeting_goes_with_the_first_turn() -> None:
    """Requirement X5."""
    messages = [system(100), assistant(50, "g"), *pair(3000, "p"), *pair(2500, "q"), user(400)]
    window = truncate_v1(messages)
    assert split(window) == ([messages[0], *messages[4:]], messages[1:4])


def test_a_greeting_alone_before_the_current_message_goes() -> None:
    """X5: only the system prompt and the current message are always kept."""
    messages = [system(100), assistant(3000, "g"), user(3000)]
    window = truncate_v1(messages)
    assert split(window) == ([messages[0], messages[2]], [messages[1]])


def test_system_and_current_message_stay_even_if_they_are_too_long() -> None:
    """Requirements X5 and C11."""
    messages = [system(7000), *pair(10, "p"), user(8000)]
    window = truncate_v1(messages)
    assert split(window) == ([messages[0], messages[3]], messages[1:3])
    assert window.over_budget


def test_a_question_left_without_an_answer_is_a_turn_of_its_own() -> None:
    messages = [user(3000, "p"), user(3000, "q"), assistant(500), user(400)]
    window = truncate_v1(messages)
    assert split(window) == (messages[1:], messages[:1])


def test_what_follows_the_current_message_stays_with_it() -> None:
    """The current turn, with its tool calls and results, is kept."""
    calling = Message("assistant", "a" * 4000, (ToolCall("1", "look", "{}"),))
    result = Message("tool", "t" * 4000, tool_call_id="1")
    messages = [*pair(2000, "p"), user(500), calling, result]
    window = truncate_v1(messages)
    assert split(window) == (messages[2:], messages[:2])


def test_a_conversation_without_a_user_has_no_turn_to_drop() -> None:
    messages = [system(10), assistant(7000)]
    assert split(truncate_v1(messages)) == (messages, [])


def test_characters_are_those_javascript_counts() -> None:
    """X5: an emoji is two; 3,000 of them are exactly 6,000."""
    messages = [user(1), assistant(1), Message("user", "😀" * 2999)]
    assert truncate_v1(messages).dropped == ()
    messages[1] = assistant(2)
    assert truncate_v1(messages).dropped == tuple(messages[:2])


def test_no_messages_make_an_empty_window() -> None:
    assert split(truncate_v1([])) == ([], [])


roles: st.SearchStrategy[Role] = st.sampled_from(["system", "user", "assistant"])
texts = st.text(st.sampled_from("a你😀"), max_size=30)
conversations = st.lists(
    st.tuples(roles, texts).map(lambda said: Message(*said)),
    max_size=14,
)


def slowly(messages: list[Message], limit: int) -> list[Message]:
    """The rule of the specification, implemented without optimization."""
    kept = list(messages)
    if total(kept) <= limit:
        return kept
    while total(kept) >= limit:
        movable = [i for i, message in enumerate(kept) if message.role != "system"]
        users = [i for i in movable if kept[i].role == "user"]
        if not users:
            return kept
        # Drop the oldest turn and the messages before it; of the last turn only the messages before
        # it.
        end = users[1] if len(users) > 1 else users[0]
        going = {i for i in movable if i < end}
        if not going:
            return kept
        kept = [message for i, message in enumerate(kept) if i not in going]
        if len(users) == 1:
            return kept
    return kept


@given(conversations, st.integers(0, 200))
def test_v1_follows_the_rule_on_any_conversation(messages: list[Message], limit: int) -> None:
    """X5: dropped and kept messages together are the whole conversation, in order."""
    window = truncate_v1(messages, limit)
    assert list(window.messages) == slowly(messages, limit)
    kept, dropped = list(window.messages), list(window.dropped)
    for message in messages:
        (kept if kept and kept[0] is message else dropped).pop(0)
    assert kept == dropped == []


SHAPES: dict[str, Callable[[int], list[Message]]] = {
    "two-huge-messages": lambda size: [*pair(size, "你"), user(10)],
    "many-tiny-turns": lambda size: [user(64)] * (size // 64),
    "one-long-turn": lambda size: [assistant(64)] * (size // 64) + [user(9000)],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_time_grows_no_faster_than_the_input(shape: str) -> None:
    """T31: for up to four MiB."""
    assert_linear(SHAPES[shape], truncate_v1, 2**22)
