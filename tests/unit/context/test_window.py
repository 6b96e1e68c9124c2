from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any, overload

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kefu.context import (
    BYTES4,
    Budget,
    LeftOut,
    Message,
    MessageContextManager,
    MessageCounter,
    ToolCall,
    View,
    build_llm_messages,
    message_counter,
    trim_with_summary,
    truncate_v1,
    window_for,
)

LETTERS = [Message("user", letter) for letter in "abcdefghij"]


@given(st.sets(st.integers(0, 9)), st.integers(-12, 12), st.integers(-12, 12))
def test_a_view_is_the_sequence_of_what_it_shows(shown: set[int], low: int, high: int) -> None:
    """Its length, order, indices, slices and equality are those of a list."""
    view = View(LETTERS, ((at, at + 1) for at in sorted(shown)))
    listed = [LETTERS[at] for at in sorted(shown)]
    assert (len(view), list(view), bool(view)) == (len(listed), listed, bool(listed))
    assert view == listed
    assert view == tuple(listed)
    assert view != [*listed, LETTERS[0]]
    assert list(view[low:high]) == listed[low:high]
    assert list(reversed(view)) == listed[::-1]
    if -len(listed) <= low < len(listed):
        assert view[low] is listed[low]
    else:
        with pytest.raises(IndexError):
            view[low]


class Watched(Sequence[Message]):
    """A long conversation that records which of its messages were read."""

    def __init__(self, messages: list[Message]) -> None:
        self.messages = messages
        self.seen: set[int] = set()

    def __len__(self) -> int:
        return len(self.messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        self.seen.update(range(*index.indices(len(self))) if isinstance(index, slice) else [index])
        return self.messages[index]


@pytest.mark.parametrize("strategy", ["fifo", "sliding_window"])
def test_what_is_dropped_is_not_looked_at(strategy: str) -> None:
    """裁剪性能, X17: the work depends on the kept messages, not on the length of the history."""
    whole = Watched([Message("system", "S"), *(Message("user", "x" * 40) for _ in range(5000))])
    window = window_for(whole, Budget(101, reserve=0), strategy, BYTES4)
    assert (len(window.messages), len(window.dropped)) == (11, 4990)
    assert whole.seen == {0, 1, *range(4990, 5001)}


@pytest.mark.parametrize(("room", "kept"), [(100_000, 10_000), (50_000, 5_000)])
def test_the_window_of_a_long_conversation_looks_at_a_few_messages_only(
    room: int, kept: int
) -> None:
    """添加消息性能, X17: whether everything fits or not, for any number of messages."""
    talk = MessageContextManager(Budget(room, reserve=0), counter=BYTES4)
    for _ in range(10_000):
        talk.add(Message("user", "x" * 40))
    watched = Watched([*talk.messages])
    talk._messages = watched  # type: ignore[assignment]
    assert len(talk.window().messages) == kept
    assert len(watched.seen) < 20


@pytest.mark.parametrize("unit", ["A reply of some words. ", "一个回答，不长也不短。"])
def test_a_conversation_takes_less_than_twice_the_size_of_its_texts(unit: str) -> None:
    """内存占用, X18: with 222 bytes a message, including exact counts."""
    counter = message_counter("tiktoken:o200k_base")
    counter.count(unit)
    repeated = unit * (222 // len(unit.encode()) + 1)
    kept = repeated.encode()[:222].decode(errors="ignore")
    size = 0
    gc.collect()
    tracemalloc.start()
    try:
        talk = MessageContextManager(Budget(1 << 40), counter=counter)
        for n in range(3000):
            text = f"{n}{kept}"[: len(kept)]
            size += len(text.encode())
            talk.add(Message("assistant" if n % 2 else "user", text))
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert size / 3000 == pytest.approx(222, abs=12)
    assert taken < 1.9 * size


def test_left_out_runs_of_a_window_read_like_a_tuple() -> None:
    """They are made as they are asked for: a conversation may have one for each message."""
    notes = [Message("system" if at % 2 else "user", "abcd") for at in range(10)]
    window = window_for(notes, Budget(6, reserve=0), "keep_important", BYTES4)
    expected = [LeftOut(at, at + 1, "budget") for at in (0, 2, 4, 6)]
    assert list(window.left_out) == expected
    assert window.left_out == tuple(expected)
    assert window.left_out != tuple(expected[1:])
    assert window.left_out[-1] == expected[-1]
    assert list(window.left_out[1:3]) == expected[1:3]
    assert repr(window.left_out) == repr(tuple(expected))
    assert window.reasons == {"budget": 4}


def test_equal_texts_of_a_message_with_many_calls_are_counted_once() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text)

    calls = tuple(ToolCall(str(at), "look", str(at % 3)) for at in range(300))
    assert MessageCounter(count)(Message("assistant", "", calls)) == 300 * len("look0")
    assert sorted(counted) == ["", "0", "1", "2", "look"]


def _added(given: list[Any]) -> Sequence[Message]:
    talk = MessageContextManager(Budget(9))
    for message in given:
        talk.add(message)
    return talk.window().messages


DOORS: dict[str, Callable[[list[Any]], Sequence[Message]]] = {
    "window_for": lambda given: window_for(given, Budget(9)).messages,
    "truncate_v1": lambda given: truncate_v1(given).messages,
    "build_llm_messages": lambda given: build_llm_messages("", given, "", 9)[1:-1],
    "trim_with_summary": lambda given: (
        asyncio.run(
            trim_with_summary(given, Budget(9), summarize=None)  # type: ignore[arg-type]
        ).messages
    ),
    "MessageContextManager": _added,
}


@pytest.mark.parametrize("door", DOORS)
def test_x22_messages_of_chat_completions_go_in_at_every_door(door: str) -> None:
    given = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    assert DOORS[door](given) == [Message("user", "a"), Message("assistant", "b")]
    with pytest.raises(TypeError, match=r"Pass kefu\.context\.Message"):
        DOORS[door]([{"text": "a"}])
