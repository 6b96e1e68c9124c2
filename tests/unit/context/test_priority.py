"""X10: the messages that are kept when space is short. Each costs 1 by default."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kefu.context import (
    Budget,
    Message,
    MessageContextManager,
    MessageCounter,
    ToolCall,
    Window,
    window_for,
)
from kefu.context.conversation import Conversation

TALK = {
    "S": Message("system", "S"),
    "+": Message("user", "told", summary=True),
    "P1": Message("user", "", pinned=True),
    "a1": Message("assistant", ""),
    "u2": Message("user", ""),
    "P2": Message("assistant", "", pinned=True),
    "u3": Message("user", ""),
    "a3": Message("assistant", ""),
    "Q": Message("user", ""),
    "C": Message("assistant", "", (ToolCall("1", "f", ""), ToolCall("2", "f", ""))),
    "R": Message("tool", "", tool_call_id="1"),
}
ONE_EACH = MessageCounter(lambda _: 0, per_message=1)
FEWEST = "S Q C R"


def names(messages: Iterable[Message]) -> str:
    kept = {id(message) for message in messages}
    return " ".join(name for name, message in TALK.items() if id(message) in kept)


def both_ways(room: int, strategy: str) -> Window:
    """The window by the stateless function and by a growing conversation, which must be equal."""
    budget = Budget(room, reserve=0)
    window = window_for(list(TALK.values()), budget, strategy, ONE_EACH)
    talk = MessageContextManager(budget, strategy=strategy, counter=ONE_EACH)
    for message in TALK.values():
        talk.add(message)
    assert talk.window() == window
    return window


@pytest.mark.parametrize(
    ("room", "kept"),
    [
        (11, "S + P1 a1 u2 P2 u3 a3 Q C R"),
        (10, "S + P1 u2 P2 u3 a3 Q C R"),
        (9, "S + P1 P2 u3 a3 Q C R"),
        (8, "S + P1 P2 Q C R"),  # half a turn is never kept
        (7, "S + P1 P2 Q C R"),
        (6, "S + P2 Q C R"),
        (5, "S + Q C R"),
        (4, FEWEST),
    ],
)
def test_recent_turns_go_first_then_pins_and_the_summary_last(room: int, kept: str) -> None:
    """X10: older turns are dropped before newer ones, and older pins before newer ones."""
    window = both_ways(room, "keep_important")
    assert (names(window.messages), window.over_budget) == (kept, False)


@pytest.mark.parametrize(
    ("room", "kept"),
    [
        (11, "S + P1 a1 u2 P2 u3 a3 Q C R"),
        (10, "S + u2 P2 u3 a3 Q C R"),
        (8, "S + u3 a3 Q C R"),
        (6, "S + Q C R"),
        (4, FEWEST),
    ],
)
def test_where_nothing_counts_as_pinned_the_summary_still_goes_last(room: int, kept: str) -> None:
    """X10: `fifo`."""
    window = both_ways(room, "fifo")
    assert (names(window.messages), window.over_budget) == (kept, False)


@pytest.mark.parametrize("strategy", ["fifo", "sliding_window", "keep_important"])
@pytest.mark.parametrize("room", range(4))
def test_system_question_and_open_tool_group_stay_without_room(strategy: str, room: int) -> None:
    """X10: flagged, not raised."""
    window = both_ways(room, strategy)
    assert (names(window.messages), window.over_budget) == (FEWEST, True)


def test_what_does_not_fit_leaves_its_room_to_what_comes_after_it() -> None:
    """X10: a long summary makes way for the pins, a long pin for older ones, and all for
    the turns.
    """
    summary, long = Message("user", "ssss", summary=True), Message("user", "lll", pinned=True)
    small, recent = Message("user", "p", pinned=True), Message("user", "r")
    asked = Message("user", "q")
    whole = [summary, small, long, recent, asked]
    window = window_for(whole, Budget(3, reserve=0), "keep_important", MessageCounter(len))
    assert window.messages == [small, recent, asked]


def test_of_many_pins_that_do_not_fit_a_hundred_are_counted() -> None:
    """裁剪性能, X17: a history in which all messages are pinned takes no longer."""
    counted = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text)

    long, small = Message("user", "lllll", pinned=True), Message("user", "p", pinned=True)
    budget, counter = Budget(4, reserve=0), MessageCounter(count)
    for misses, found in ((99, True), (100, False)):
        counted.clear()
        whole = [*[long] * 5000, small, *[long] * misses, Message("user", "q")]
        window = window_for(whole, budget, "keep_important", counter)
        assert (small in window.messages) is found
        assert len(counted) < 250


@pytest.mark.parametrize("strategy", ["fifo", "sliding_window", "keep_important", "v1"])
def test_no_more_is_counted_than_what_is_kept(strategy: str) -> None:
    """X17: although `keep_important` and `v1` look for system messages everywhere."""
    counted = []

    def count(text: str) -> int:
        counted.append(text)
        return 1

    whole = [Message("user" if n % 2 else "assistant", "x") for n in range(5000)]
    whole[100] = Message("system", "note")
    window_for(whole, Budget(20, reserve=0), strategy, MessageCounter(count))
    assert len(counted) < 100


@pytest.mark.parametrize("pins", [100, 1000])
def test_a_window_among_pins_asks_for_the_cost_of_each_a_few_times(
    pins: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """裁剪性能, X17: the cost is not requested again for every possible cut."""
    asked = []
    cost = Conversation.cost

    def counted(talk: Conversation, start: int, stop: int) -> int:
        asked.append((start, stop))
        return cost(talk, start, stop)

    talk = MessageContextManager(Budget(9 * pins, reserve=0), "", "keep_important", ONE_EACH)
    for number in range(10 * pins):
        talk.add(Message("user", "", pinned=not number % 10))
    monkeypatch.setattr(Conversation, "cost", counted)
    window = talk.window()
    assert len(window.messages) == 9 * pins
    assert sum(message.pinned for message in window.messages) == pins
    assert len(asked) < 5 * pins
