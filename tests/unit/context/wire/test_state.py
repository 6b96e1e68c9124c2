"""The state that a stateless server receives and returns with each request."""

from __future__ import annotations

import json
import pickle
from types import SimpleNamespace
from typing import Any

import pytest

from kefu.context import BYTES4, Message, Trimmed, TrimState, trim_messages
from kefu.context.wire.marks import mark


def talk(turns: int) -> list[Any]:
    whole: list[Any] = [{"role": "system", "content": "S"}]
    for turn in range(turns):
        whole += [
            {"role": "user", "content": f"q{turn:03}" + "x" * 36},
            {"role": "assistant", "content": f"a{turn:03}" + "x" * 36},
        ]
    return [*whole, {"role": "user", "content": "now?"}]


def trim(whole: list[Any], state: TrimState | None = None, **options: Any) -> Trimmed[Any]:
    options.setdefault("strategy", "summary")
    return trim_messages(whole, max_tokens=300, reserve=0, counter=BYTES4, state=state, **options)


def test_a_summary_is_used_with_the_next_request() -> None:
    """摘要压缩: the messages that it covers are not sent, and no later message is left out."""
    whole = talk(13)  # 80 % of the room
    first = trim(whole)
    assert list(first) == whole
    due = first.to_summarize
    assert due
    assert due.previous == ""
    assert list(due.messages) == whole[1 : due.covers]
    state = due.with_summary(" They asked. ", first.state)
    second = trim(whole, state)
    assert second[0] is whole[0]
    assert second[1]["role"] == "user"
    assert "They asked." in second[1]["content"]
    assert [id(m) for m in second[2:]] == [id(m) for m in whole[due.covers :]]
    assert second.left_out == ((1, due.covers, "summarized"),)
    assert second.to_summarize is None


def test_the_next_summary_continues_the_last_one() -> None:
    first = trim(talk(13))
    assert first.to_summarize
    state = first.to_summarize.with_summary("one", first.state)
    whole = talk(22)
    later = trim(whole, state)
    assert later.to_summarize
    assert later.to_summarize.previous == "one"
    assert later.to_summarize.messages[0] is whole[first.to_summarize.covers]


@pytest.mark.parametrize("strategy", ["fifo", "agent"])
def test_a_summary_is_not_used_by_a_strategy_without_summaries(strategy: str) -> None:
    whole = talk(13)
    first = trim(whole)
    assert first.to_summarize
    state = first.to_summarize.with_summary("They asked.", first.state)
    assert list(trim(whole, state, strategy=strategy)) == whole


def test_an_unknown_strategy_is_refused_with_the_names_of_all() -> None:
    with pytest.raises(ValueError, match="There is no strategy 'x'") as refused:
        trim(talk(1), strategy="x")
    names = str(refused.value).partition("There are: ")[2].rstrip(".").split(", ")
    assert len(names) == len(set(names))
    assert {"agent", "fifo", "summary", "v1"} <= set(names)
    for name in names:
        trim(talk(1), strategy=name)


def test_an_empty_summary_changes_nothing() -> None:
    first = trim(talk(13))
    assert first.to_summarize
    state = first.to_summarize.with_summary("", first.state)
    assert state == first.state
    again = trim(talk(13), state)
    assert again.to_summarize
    assert again.to_summarize.covers == first.to_summarize.covers


def test_a_state_of_other_messages_is_ignored() -> None:
    """The user has edited an older message."""
    first = trim(talk(13))
    assert first.to_summarize
    state = first.to_summarize.with_summary("They asked.", first.state)
    edited = talk(13)
    edited[first.to_summarize.covers - 1] = {"role": "assistant", "content": "No."}
    sent = trim(edited, state)
    assert "They asked." not in json.dumps(sent)
    assert sent[1] is edited[1]


def test_pinned_messages_are_not_summarized() -> None:
    """保留重要消息: not even after ten summaries."""
    state = None
    for turns in range(10, 130, 3):
        whole = talk(turns)
        whole[3] = {"role": "user", "content": "My order is A4711."}
        sent = trim(whole, state, keep=lambda m: "A4711" in m["content"])
        assert any(m is whole[3] for m in sent)
        state = sent.state
        if sent.to_summarize:
            assert not any(m is whole[3] for m in sent.to_summarize.messages)
            state = sent.to_summarize.with_summary(f"until {turns}", state)
    assert state
    assert "until" in state.summary


def test_a_state_is_a_small_json_value() -> None:
    first = trim(talk(60))
    assert first.to_summarize
    state = first.to_summarize.with_summary("They asked.", first.state.calibrated(400))
    text = state.dump()
    assert len(text) < 300
    assert TrimState.load(text) == state
    assert TrimState.load("") == TrimState.load(None) == TrimState()
    assert TrimState.load('{"version": 0, "cut": 3}') == TrimState()
    for broken in ('{"version": 2, "x": 1}', "[1]", "{", '{"version": 2, "cut": "3"}'):
        with pytest.raises(ValueError):  # noqa: PT011 - JSON's own and ours
            TrimState.load(broken)


def test_the_providers_count_corrects_the_next_room() -> None:
    """Requirement X13."""
    whole = talk(60)
    plain = trim(whole, strategy="fifo")
    twice = trim(whole, plain.state.calibrated(2 * plain.tokens), strategy="fifo")
    half = trim(whole, plain.state.calibrated(plain.tokens // 2), strategy="fifo")
    assert twice.tokens <= 150 < plain.tokens <= 300 < half.tokens <= 600
    wild = trim(whole, plain.state.calibrated(10**9), strategy="fifo")
    assert 50 < wild.tokens <= 100  # corrected by a factor of three at most


def test_a_cut_stays_until_the_prompt_is_full() -> None:
    """Requirement X11."""
    starts, state = [], None
    for turns in range(20, 60):
        whole = talk(turns)
        sent = trim(whole, state, strategy="fifo", trim_step=0.4)
        state = sent.state
        starts.append(sent[1]["content"][:4])
        assert sent.tokens <= 300
    assert starts == sorted(starts)
    assert len(set(starts)) <= 10


def test_own_messages_have_states_as_well() -> None:
    whole = [Message("user", f"{turn:040}") for turn in range(40)]
    first = trim(whole)
    assert first.to_summarize
    sent = trim(whole, first.to_summarize.with_summary("told", first.state))
    assert sent[0].summary
    assert sent[1] is whole[first.to_summarize.covers]


def test_m6_a_state_is_ignored_by_another_conversation_with_the_same_answer() -> None:
    """Two visitors get the same prepared answer at the same place."""
    whole = talk(13)
    first = trim(whole)
    assert first.to_summarize
    state = first.to_summarize.with_summary("Order A4711.", first.state)
    other = [{**message, "content": f"another {at}"} for at, message in enumerate(whole)]
    other[state.covers - 1] = whole[state.covers - 1]
    assert "A4711" in str(trim(whole, state))
    assert "A4711" not in str(trim(other, state))


def test_m6_a_state_is_ignored_when_the_first_question_was_edited() -> None:
    whole = talk(13)
    first = trim(whole)
    assert first.to_summarize
    state = first.to_summarize.with_summary("Order A4711.", first.state)
    whole[1] = {"role": "user", "content": "The order is B9999."}
    assert "A4711" not in str(trim(whole, state))


@pytest.mark.parametrize(
    ("counted", "provider", "measured"), [(10, 1, 1), (10, 0, 0), (10, -1, 0), (0, 5, 0), (1, 5, 5)]
)
def test_a_count_of_the_provider_is_kept_beside_that_of_the_counter(
    counted: int, provider: int, measured: int
) -> None:
    state = TrimState(counted=counted, exact=True).calibrated(provider)
    assert (state.measured, state.measured_as, state.measured_exact) == (
        (measured, counted, True) if measured else (0, 0, False)
    )


@pytest.mark.parametrize(
    ("measured", "counted", "room"),
    [
        (0, 10, 90),
        (10, 0, 90),
        (10, 10, 90),
        (20, 10, 45),
        (10, 20, 180),
        (90, 10, 30),
        (1, 90, 270),
    ],
)
def test_a_room_is_corrected_by_the_last_count_at_most_threefold(
    measured: int, counted: int, room: int
) -> None:
    assert TrimState(measured=measured, measured_as=counted).room(90) == room


def test_a_state_is_the_same_after_it_was_stored() -> None:
    state = TrimState(3, "mark", "A summary.", 2, "other", 7, 8, 9, exact=True, measured_exact=True)
    assert TrimState.load(state.dump()) == state
    assert TrimState.load(TrimState().dump()) == TrimState.load("") == TrimState.load(None)
    assert TrimState.load('{"version": 99, "cut": 5}') == TrimState()


@pytest.mark.parametrize("at", range(1, 12))
def test_x23_a_state_is_dropped_when_any_covered_message_was_edited(at: int) -> None:
    whole = talk(13)
    first = trim(whole)
    assert first.to_summarize
    state = first.to_summarize.with_summary("Order A4711.", first.state)
    assert state.covers > 11
    whole[at] = {**whole[at], "content": "The order is B9999."}
    sent = trim(whole, state)
    assert sent.stale
    assert "A4711" not in str(sent)


def test_x23_a_state_of_a_longer_list_is_dropped_and_says_so() -> None:
    first = trim(talk(13))
    assert first.to_summarize
    state = first.to_summarize.with_summary("Order A4711.", first.state)
    sent = trim(talk(2), state)
    assert (sent.stale, "A4711" in str(sent)) == (True, False)
    assert sent.state.summary == ""


def test_x23_a_correction_of_another_conversation_is_dropped() -> None:
    """Its first question is another one."""
    whole = talk(3)
    state = trim(whole, strategy="fifo").state.calibrated(300)
    other = [whole[0], {"role": "user", "content": "another"}, *whole[2:]]
    assert trim(whole, state, strategy="fifo").limit < 300
    assert (trim(other, state, strategy="fifo").limit, trim(other, state).stale) == (300, True)


def test_x23_a_border_between_messages_does_not_move_unnoticed() -> None:
    one = [{"role": "user", "content": "ab"}, {"role": "assistant", "content": "c"}]
    for other in (
        [{"role": "user", "content": "a"}, {"role": "assistant", "content": "bc"}],
        [{"role": "assistant", "content": "ab"}, {"role": "user", "content": "c"}],
    ):
        assert mark(one, 2) != mark(other, 2)


@pytest.mark.parametrize("arguments", ["{}", {}], ids=["text", "dict"])
@pytest.mark.parametrize("calls", [1, 2])
@pytest.mark.parametrize("content", [None, ""])
@pytest.mark.parametrize("thought", [{}, {"reasoning_content": "hm"}])
def test_x23_a_mark_is_the_same_for_an_object_of_a_client_and_its_json(
    arguments: Any, calls: int, content: str | None, thought: dict[str, str]
) -> None:
    """And whatever is marked for a cache."""
    function = {"name": "f", "arguments": arguments}
    made = [{"id": str(at), "function": function} for at in range(calls)]
    call = {"role": "assistant", "content": content, "tool_calls": made, **thought}
    values = [SimpleNamespace(id=c["id"], function=SimpleNamespace(**function)) for c in made]
    value = SimpleNamespace(role="assistant", content=content, tool_calls=values, **thought)
    result = {"role": "tool", "tool_call_id": "0", "content": "ok"}
    cached = {**result, "cache_control": {"type": "ephemeral"}}
    assert mark([call, result], 2) == mark([value, cached], 2)


def test_x23_a_mark_is_the_same_for_own_messages_and_those_of_a_chat_completion() -> None:
    function = {"name": "f", "arguments": "{}"}
    made = [{"id": "1", "type": "function", "function": function}]
    whole = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "tool_calls": made},
        {"role": "tool", "tool_call_id": "1", "content": "ok"},
        {"role": "assistant", "content": "a"},
    ]
    own = [Message.of(message) for message in whole]
    assert mark(own[3:], 2) == mark(whole[3:], 2)
    assert mark(own[:2], 2) == mark(whole[:2], 2)


@pytest.mark.parametrize(
    "changed",
    [
        {"role": "user"},
        {"content": "Hm."},
        {"reasoning_content": "hm"},
        {"tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]},
        {"tool_calls": [{"id": "0", "function": {"name": "g", "arguments": "{}"}}]},
        {"tool_calls": [{"id": "0", "function": {"name": "f", "arguments": "[]"}}]},
    ],
    ids=range(6),
)
def test_x23_a_mark_shows_any_change_of_a_call(changed: dict[str, Any]) -> None:
    made = {"id": "0", "function": {"name": "f", "arguments": "{}"}}
    call = {"role": "assistant", "content": None, "tool_calls": [made]}
    assert mark([{**call, **changed}], 1) != mark([call], 1)


def test_x23_a_newer_state_keeps_its_summary() -> None:
    """An older summary that comes late does not replace it."""
    first = trim(talk(13))
    second = trim(talk(22), first.state)
    assert first.to_summarize
    assert second.to_summarize
    newer = second.to_summarize.with_summary("newer", second.state)
    assert first.to_summarize.with_summary("older", newer) is newer


def test_x23_a_prompt_whose_state_was_read_goes_to_another_process() -> None:
    sent = trim(talk(13))
    state = sent.state
    there = pickle.loads(pickle.dumps(sent))
    assert (list(there), there.state) == (list(sent), state)
