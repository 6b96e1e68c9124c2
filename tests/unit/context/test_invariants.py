from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kefu.context import (
    STRATEGIES,
    Budget,
    Message,
    MessageContextManager,
    MessageCounter,
    ToolCall,
    TrimState,
    Window,
    window_for,
)
from kefu.context.conversation import Conversation, CountedOnce
from tests.unit.context.histories import (
    COUNTERS,
    check,
    cost,
    head_of,
    histories,
    must_stay,
    positions,
    refused_by_an_api,
)


def kept_up_to_date(
    messages: Sequence[Message], counter: MessageCounter, name: str
) -> MessageContextManager:
    talk = MessageContextManager(Budget(0), strategy=name, counter=counter)
    for message in messages:
        talk.add(message)
    return talk


def rooms(messages: Sequence[Message], counter: MessageCounter) -> range:
    return range(cost(messages, counter) + 2)


@pytest.mark.parametrize("counter", COUNTERS.values(), ids=COUNTERS)
@pytest.mark.parametrize("name", STRATEGIES)
@given(whole=histories, step=st.sampled_from([0.0, 0.2, 0.9]), most=st.integers(0, 9))
@settings(max_examples=25, deadline=None)
def test_no_window_is_invalid_whatever_the_budget(
    name: str, counter: MessageCounter, whole: list[Message], step: float, most: int
) -> None:
    """X19: every budget from 0 to the total, parallel tool calls, and histories with errors."""
    before = list(whole)
    for room in rooms(whole, counter):
        budget = Budget(room, reserve=0, trim_step=step, max_messages=most)
        window = window_for(whole, budget, name, counter)
        check(window, whole, room, counter)
    assert whole == before


@pytest.mark.parametrize("name", STRATEGIES)
@given(whole=histories, step=st.sampled_from([0.0, 0.3]), most=st.integers(0, 9))
@settings(max_examples=50, deadline=None)
def test_a_conversation_kept_up_to_date_gives_the_same_window(
    name: str, whole: list[Message], step: float, most: int
) -> None:
    """X6, X17: the stateless function and a conversation that grows message by message have the
    same positions and reasons.
    """
    counter = COUNTERS["bytes4"]
    talk = kept_up_to_date(whole, counter, name)
    for room in rooms(whole, counter):
        budget = Budget(room, reserve=0, trim_step=step, max_messages=most)
        talk.budget = budget
        talk.load(TrimState())
        grown = talk.window()
        fresh = window_for(whole, budget, name, counter)
        assert (grown.left_out, grown.tokens) == (fresh.left_out, fresh.tokens)
        assert (grown.messages, grown.over_budget) == (fresh.messages, fresh.over_budget)


def test_a_result_without_a_call_ends_no_search_for_a_start() -> None:
    """X19: in a question of several steps, of which one has a result too many."""
    call = Message("assistant", "", (ToolCall("1", "f", ""),))
    results = [Message("tool", "", tool_call_id="1"), Message("tool", "", tool_call_id="2")]
    said = Message("assistant", "a")
    whole = [Message("user", "a" * 9), said, call, *results, Message("assistant", "")]
    counter = COUNTERS["bytes4"]
    for room in rooms(whole, counter):
        budget = Budget(room, reserve=0, trim_step=0.3)
        check(window_for(whole, budget, "fifo", counter), whole, room, counter)


@pytest.mark.parametrize("counter", COUNTERS.values(), ids=COUNTERS)
@pytest.mark.parametrize("name", STRATEGIES)
@given(
    whole=histories,
    step=st.sampled_from([0.0, 0.3]),
    most=st.integers(0, 9),
    kept_from=st.integers(0, 9),
)
@settings(max_examples=40, deadline=None)
def test_a_window_is_that_of_the_strategy_also_if_the_whole_conversation_fits(
    name: str, counter: MessageCounter, whole: list[Message], step: float, most: int, kept_from: int
) -> None:
    """X1, X9, X12: `window_for` asks no strategy when everything fits, and reports the same."""
    kept_from = min(kept_from, max(0, len(whole) - 1))
    for room in rooms(whole, counter):
        budget = Budget(room, reserve=0, trim_step=step, max_messages=most)
        asked = STRATEGIES[name](
            Conversation(
                whole, CountedOnce(whole.__getitem__, counter), counter.priming, kept_from
            ),
            budget,
        )
        window = window_for(whole, budget, name, counter, kept_from=kept_from)
        assert (window, window.reasons) == (asked, asked.reasons)
        assert list(map(type, window)) == list(map(type, asked))


@pytest.mark.parametrize("name", STRATEGIES)
def test_only_an_assistants_calls_wait_for_results(name: str) -> None:
    """X9, X12: the result of a call in a message of another role is dropped as a stray one."""
    counter = COUNTERS["bytes4"]
    asking = Message("system", "note", (ToolCall("1", "f", "{}"),))
    stray = Message("tool", "aaaa", tool_call_id="1")
    whole = [Message("user", "aaaa"), asking, stray, Message("user", "bbbb")]
    for room in rooms(whole, counter):
        fresh = window_for(whole, Budget(room, reserve=0), name, counter)
        talk = kept_up_to_date(whole, counter, name)
        talk.budget = Budget(room, reserve=0)
        grown = talk.window()
        assert stray in fresh.dropped
        assert fresh == grown


@pytest.mark.parametrize("name", ["fifo", "sliding_window", "keep_important"])
@given(whole=histories)
@settings(max_examples=50, deadline=None)
def test_over_budget_only_what_must_stay_is_kept(name: str, whole: list[Message]) -> None:
    """X10: `keep_important` also keeps system messages after the prompt."""
    counter = COUNTERS["bytes4"]
    may_stay = {at for at, m in enumerate(whole) if m.role == "system" and name == "keep_important"}
    for room in rooms(whole, counter):
        window = window_for(whole, Budget(room, reserve=0), name, counter)
        if window.over_budget:
            kept = positions(window.messages, whole)
            costly = {at for at in kept if cost(whole[at : at + 1], counter) > 0}
            assert costly <= must_stay(whole) | may_stay


def slowly(whole: list[Message], room: int, counter: MessageCounter) -> list[int]:
    """A slow `fifo` by its specification: drop broken groups, then the oldest turns."""
    stay = must_stay(whole)
    kept = sound(whole)
    first = [whole[at] for at in kept if at in stay or at in range(head(whole))]
    if cost(first, counter) > room:  # the summary does not fit
        kept = [at for at in kept if at in stay or at not in range(head(whole))]
    users = [at for at in kept if whole[at].role == "user" and not whole[at].summary]
    behind_head = [at for at in kept if at not in range(head(whole))]
    older = [at for at in behind_head if users and at < users[-1]]
    starts = [at for at in older if at in users] + users[-1:]
    cuts = starts[bool(older and older[0] in users) :]
    # Then the older exchanges of the current turn are dropped.
    current = [at for at in behind_head if at not in older and at not in stay]
    cuts += [at for at in current if whole[at].role != "tool"][1:] + [len(whole)] * bool(current)
    for cut in cuts:
        if cost([whole[at] for at in kept], counter) > room:
            kept = [at for at in kept if at >= cut or at in stay or at in range(head(whole))]
    return kept


def head(whole: list[Message]) -> int:
    at = head_of(whole)
    while at < len(whole) and whole[at].summary:
        at += 1
    return at


def sound(whole: list[Message]) -> list[int]:
    """All messages but those in broken groups, found by removing each group."""
    kept = list(range(len(whole)))
    at = 0
    while at < len(whole):
        stop = at + 1
        calling = bool(whole[at].tool_calls)
        if whole[at].role == "tool" or calling:
            while stop < len(whole) and whole[stop].role == "tool":
                stop += 1
            answers = list(range(at + calling, stop))
            wanted = [call.id for call in whole[at].tool_calls]
            for i in answers:
                if whole[i].tool_call_id in wanted:
                    wanted.remove(whole[i].tool_call_id or "")
                else:
                    kept.remove(i)
            if wanted and stop < len(whole):
                kept = [i for i in kept if not at <= i < stop]
        at = stop
    assert refused_by_an_api([whole[i] for i in kept]) == ""
    return kept


@pytest.mark.slow
@given(whole=histories)
@settings(max_examples=80, deadline=None)
def test_fifo_follows_its_rule_on_any_conversation(whole: list[Message]) -> None:
    """X9, X10: it drops no more messages than necessary."""
    counter = COUNTERS["characters"]
    for room in rooms(whole, counter):
        window = window_for(whole, Budget(room, reserve=0), "fifo", counter)
        expected = slowly(whole, room, counter)
        free = {at for at, m in enumerate(whole) if cost([m], counter) == 0}
        assert set(positions(window.messages, whole)) - free == set(expected) - free


def test_a_broken_group_is_reported_apart_from_what_the_budget_drops() -> None:
    """X12: its reason differs from the reason of messages that are over the budget."""
    whole = [Message("user", "aaaa"), Message("assistant", "bbbb"), Message("user", "cccc")]
    whole += [Message("tool", "dddd", tool_call_id="1"), Message("user", "eeee")]
    window = window_for(whole, Budget(2, reserve=0))
    assert window.reasons == {"budget": 2, "broken_tool_group": 1}
    assert isinstance(window, Window)
