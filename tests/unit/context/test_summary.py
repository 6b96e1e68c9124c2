from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kefu.context import (
    BYTES4,
    Budget,
    Message,
    MessageContextManager,
    ToolCall,
    trim_with_summary,
    window_for,
)
from kefu.context.summary import summary_text
from tests.unit.context.histories import cost, head_of, histories, must_stay, refused_by_an_api


class Summarizer:
    """A summarizer that returns a given text, and records its calls."""

    def __init__(self, answer: str | Exception = "told again") -> None:
        self.answer = answer
        self.asked: list[tuple[list[Message], str]] = []

    async def __call__(self, messages: Sequence[Message], previous: str) -> str:
        self.asked.append((list(messages), previous))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def turns(count: int, first: int = 0) -> list[Message]:
    """Turns of ten tokens each."""
    return [Message("user", f"{turn:04}" * 10) for turn in range(first, first + count)]


SYSTEM = Message("system", "SSSS")
ROOM = Budget(100, reserve=0)


async def test_what_goes_is_summarised_behind_the_system_prompt() -> None:
    """摘要压缩, X9."""
    whole, summarize = [SYSTEM, *turns(12)], Summarizer("the key facts")
    window = await trim_with_summary(whole, ROOM, summarize, BYTES4)
    told = window.messages[1]
    assert (window.messages[0], summary_text(told)) == (SYSTEM, "the key facts")
    assert told.summary
    assert (told.role, told.content[:1]) == ("user", "<")
    (asked,) = summarize.asked
    gone = len(whole) - (len(window.messages) - 1)
    assert asked == (whole[1 : gone + 1], "")
    assert window.messages[2:] == tuple(whole[gone + 1 :])
    assert window.dropped == whole[1 : gone + 1]
    assert window.reasons == {"summarized": gone}
    assert window.tokens == cost(window.messages, BYTES4) <= 100
    assert window.fallback == ""


async def test_nobody_is_asked_while_everything_fits() -> None:
    summarize = Summarizer()
    window = await trim_with_summary([SYSTEM, *turns(9)], ROOM, summarize, BYTES4)
    assert (len(window.messages), summarize.asked) == (10, [])


async def test_a_summary_is_itself_summarised() -> None:
    """X9: one message, for any length of the conversation."""
    first = await trim_with_summary([SYSTEM, *turns(12)], ROOM, Summarizer("one"), BYTES4)
    summarize = Summarizer("one and two")
    whole = [*first.messages, *turns(5, first=12)]
    second = await trim_with_summary(whole, ROOM, summarize, BYTES4)
    assert [summary_text(m) for m in second.messages if m.summary] == ["one and two"]
    ((messages, previous),) = summarize.asked
    assert previous == "one"
    assert not any(m.summary for m in messages)
    assert second.dropped == [whole[1], *messages]


@pytest.mark.parametrize(
    ("answer", "fallback"),
    [(TimeoutError("slow"), "failed: TimeoutError"), ("", "empty"), (" \n", "empty")],
)
async def test_without_a_summary_the_window_is_that_of_fifo_and_says_why(
    answer: str | Exception, fallback: str
) -> None:
    """Requirement X9."""
    whole = [SYSTEM, *turns(12)]
    window = await trim_with_summary(whole, ROOM, Summarizer(answer), BYTES4)
    plain = window_for(whole, ROOM, "fifo", BYTES4)
    assert window.fallback == fallback
    assert (window.messages, window.left_out) == (plain.messages, plain.left_out)


async def test_nobody_is_asked_where_there_is_no_room_for_an_answer() -> None:
    summarize = Summarizer()
    window = await trim_with_summary(turns(3), Budget(11, reserve=0), summarize, BYTES4)
    assert (window.fallback, summarize.asked) == ("no room", [])
    assert window.messages == turns(3)[2:]


async def test_a_long_summary_is_cut_to_its_share() -> None:
    """X9: the share is a quarter of the room. The newest turns keep the rest."""
    whole, summarize = [SYSTEM, *turns(12)], Summarizer("很长" * 500)
    window = await trim_with_summary(whole, ROOM, summarize, BYTES4)
    told = window.messages[1]
    assert 15 < cost([told], BYTES4) <= 25
    assert told.content.endswith("</conversation_summary>")
    assert not window.over_budget
    assert len(window.messages) == 2 + 7


async def test_a_trim_step_leaves_room_so_that_not_every_turn_asks() -> None:
    """X11: the step leaves room, so the next turns need no new summary."""
    summarize = Summarizer()
    talk = MessageContextManager(Budget(100, reserve=0, trim_step=0.4), "SSSS", "summary", BYTES4)
    for message in turns(40):
        talk.add(message)
        if talk.over_limit:
            await talk.summarize(summarize)
        assert not talk.window().left_out
    assert len(summarize.asked) == pytest.approx(40 / 5, abs=2)


async def test_a_cancelled_request_is_not_a_failed_summary() -> None:
    async def never(messages: Sequence[Message], previous: str) -> str:
        await asyncio.sleep(60)
        return "late"

    task = asyncio.ensure_future(trim_with_summary([SYSTEM, *turns(12)], ROOM, never, BYTES4))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def running(messages: Sequence[Message]) -> MessageContextManager:
    talk = MessageContextManager(ROOM, "SSSS", "summary", BYTES4)
    for message in messages:
        talk.add(message)
    return talk


async def test_the_manager_puts_the_summary_where_the_messages_were() -> None:
    """X6: a dropped message refers to the summary that replaces it."""
    talk = running(turns(12))
    removed, fallback = await talk.summarize(Summarizer("facts"))
    assert fallback == ""
    assert {r.summary_id for r in removed} == {13}
    assert {r.reason for r in removed} == {"summarized"}
    assert [r.id for r in removed] == list(range(1, 1 + len(removed)))
    window = talk.window()
    assert [m.summary for m in window.messages[:3]] == [False, True, False]
    assert talk.state().roles == {"system": 1, "summary": 1, "user": 12 - len(removed)}
    assert window.dropped == ()
    for message in turns(5, first=12):
        talk.add(message)
    summarize = Summarizer("more facts")
    again = (await talk.summarize(summarize)).removed
    assert summarize.asked[0][1] == "facts"
    assert again[0].id == 13
    assert [m.summary for m in talk.window().messages].count(True) == 1


async def test_the_manager_loses_nothing_when_the_summariser_fails() -> None:
    """X9: the window is that of `fifo`, and the conversation keeps all messages."""
    talk = running(turns(12))
    assert await talk.summarize(Summarizer(OSError())) == ((), "failed: OSError")
    assert talk.state().messages == 13
    assert talk.window().messages == [SYSTEM, *turns(9, first=3)]


@pytest.mark.parametrize("meanwhile", ["add", "compact"])
async def test_a_conversation_may_go_on_while_it_is_summarised(meanwhile: str) -> None:
    talk = running(turns(12))
    late = Message("user", "late")

    async def summarize(messages: Sequence[Message], previous: str) -> str:
        talk.add(late) if meanwhile == "add" else talk.compact()
        return "facts"

    removed, fallback = await talk.summarize(summarize)
    if meanwhile == "add":
        assert talk.window().messages[-1] is late
        assert removed
    else:
        assert (removed, fallback) == ((), "changed")
        assert len(talk.window().messages) == 10


async def test_tool_calls_are_summarised_with_their_results_or_not_at_all() -> None:
    """Requirement X9."""
    call = Message("assistant", "", (ToolCall("1", "f", "{}"),))
    result = Message("tool", "r" * 200, tool_call_id="1")
    whole = [SYSTEM, Message("user", "q"), call, result, *turns(7)]
    summarize = Summarizer()
    window = await trim_with_summary(whole, ROOM, summarize, BYTES4)
    assert summarize.asked[0][0][:3] == whole[1:4]
    assert refused_by_an_api(window.messages) == ""


@given(whole=histories, room=st.integers(0, 160), answer=st.sampled_from(["", "s", "s" * 400]))
async def test_no_window_with_a_summary_is_invalid(
    whole: list[Message], room: int, answer: str
) -> None:
    """X19: kept messages are in order and unchanged. One summary follows the system prompt, or the
    question that is being worked on if that comes first of what is kept (X21).
    """
    window = await trim_with_summary(whole, Budget(room, reserve=0), Summarizer(answer), BYTES4)
    assert refused_by_an_api(window.messages) == ""
    assert window.tokens == cost(window.messages, BYTES4)
    assert window.over_budget == (window.tokens > room)
    there = {id(m) for m in whole}
    new = [at for at, m in enumerate(window.messages) if id(m) not in there]
    head = head_of(whole)
    question = next((m for m in reversed(whole) if m.role == "user" and not m.summary), None)
    assert new in ([], [head], [head + 1])
    assert new != [head + 1] or window.messages[head] is question
    kept = {id(m) for m in window.messages}
    assert all(id(whole[at]) in kept for at in must_stay(whole))
    out = [at for run in window.left_out for at in range(run.start, run.stop)]
    assert [m for at, m in enumerate(whole) if at not in out] == [
        m for at, m in enumerate(window.messages) if at not in new
    ]
    assert window.dropped == [whole[at] for at in out]


async def test_a_conversation_that_is_trimmed_again_is_summarised_rarely() -> None:
    """X9: for a caller that stores no summary, such as the hook `summary`."""
    asked: set[int] = set()

    async def told(messages: Sequence[Message], previous: str) -> str:
        asked.add(len(messages))
        return "told"

    whole = [SYSTEM]
    summarised = 0
    budget = Budget(300, reserve=0, trim_step=0.5)
    for message in turns(80):
        whole.append(message)
        window = await trim_with_summary(whole, budget, told, BYTES4, repeated=True)
        assert window.tokens <= 300
        summarised += any(m.summary for m in window.messages)
    assert summarised == 51
    assert len(asked) <= 51 / 5


async def test_a_summarizer_that_is_programmed_wrongly_is_no_outage() -> None:
    """The error reaches its author, instead of conversations without summaries."""

    async def nothing(messages: Sequence[Message], previous: str) -> None:
        return None

    def synchronous(messages: Sequence[Message], previous: str) -> str:
        return "told"

    for wrong in (nothing, synchronous):
        given: Any = wrong
        with pytest.raises(TypeError, match="summarize must be an async function"):
            await trim_with_summary([SYSTEM, *turns(12)], ROOM, given, BYTES4)


def test_a_compacted_conversation_is_not_compacted_again() -> None:
    """X6, X11: also with steps."""
    for count in range(5, 60):
        talk = MessageContextManager(Budget(100, 0, 0.3), "SSSS", counter=BYTES4)
        for message in turns(count):
            talk.add(message)
        talk.compact()
        assert talk.compact().removed == ()
