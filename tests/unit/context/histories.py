"""Generates conversations of every kind, and checks windows of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from kefu.context import BYTES4, CHARACTERS, Message, MessageCounter, ToolCall, Window
from kefu.context.tokens import estimate_tokens_v1

COUNTERS = {
    "bytes4": BYTES4,
    "characters": CHARACTERS,
    "cjk_v1, with what the chat format adds": MessageCounter(estimate_tokens_v1, 3, 3),
}

texts = st.text(st.sampled_from("ab你😀"), max_size=9)
IDS = ["1", "2", "3"]


def says(role: Any, pinned: bool = False) -> st.SearchStrategy[list[Message]]:
    return st.builds(lambda text: [Message(role, text, pinned=pinned)], texts)


@st.composite
def tool_group(draw: st.DrawFn, *, sound: bool) -> list[Message]:
    """Up to three tool calls at once and their results in any order; sometimes with an error."""
    calls = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=3, unique=sound))
    results = list(draw(st.permutations(calls)))
    if not sound:
        results = draw(st.lists(st.sampled_from([*IDS, "9"]), max_size=4))
    pinned = draw(st.booleans())
    call = Message("assistant", draw(texts), tuple(ToolCall(i, "f", draw(texts)) for i in calls))
    answers = [Message("tool", draw(texts), tool_call_id=i, pinned=pinned) for i in results]
    return [call, *answers]


strays = st.builds(
    lambda text, of: [Message("tool", text, tool_call_id=of)],
    texts,
    st.sampled_from([None, "", *IDS]),
)
late_summaries = st.builds(
    lambda role, text: [Message(role, text, summary=True)],
    st.sampled_from(["system", "user", "assistant"]),
    texts,
)
segments = st.one_of(
    says("user"),
    says("assistant"),
    says("user", pinned=True),
    says("assistant", pinned=True),
    says("system"),
    tool_group(sound=True),
    tool_group(sound=False),
    strays,
    late_summaries,
)
heads: st.SearchStrategy[list[Message]] = st.one_of(
    st.just([]),
    says("system"),
    st.builds(lambda text: [Message("system", "S"), Message("user", text, summary=True)], texts),
)
histories = st.builds(
    lambda head, body: [*head, *(m for segment in body for m in segment)],
    heads,
    st.lists(segments, max_size=9),
)


def positions(parts: Sequence[Message], whole: Sequence[Message]) -> list[int]:
    """The positions of messages, compared by identity: no message may be copied or changed."""
    where = {id(message): at for at, message in enumerate(whole)}
    return [where[id(message)] for message in parts]


def head_of(messages: Sequence[Message]) -> int:
    return next((at for at, m in enumerate(messages) if m.role != "system"), len(messages))


def last_group(messages: Sequence[Message]) -> range:
    """The tool calls at the end of a conversation, with the results that exist."""
    first = len(messages)
    while first and messages[first - 1].role == "tool":
        first -= 1
    if first and messages[first - 1].tool_calls:
        return range(first - 1, len(messages))
    return range(0)


def must_stay(messages: Sequence[Message]) -> set[int]:
    """X10: the positions that must stay. In the last group, results without a call need not
    stay.
    """
    users = [at for at, m in enumerate(messages) if m.role == "user" and not m.summary]
    group = last_group(messages)
    waiting = Counter(c.id for at in group[:1] for c in messages[at].tool_calls)
    answering = set(group[:1])
    for at in group[1:]:
        if waiting[messages[at].tool_call_id or ""] > 0:
            waiting[messages[at].tool_call_id or ""] -= 1
            answering.add(at)
    return {*range(head_of(messages)), *users[-1:], *answering}


def refused_by_an_api(messages: Sequence[Message]) -> str:
    """The errors in the tool calls of a prompt; empty if there are none."""
    waiting: Counter[str | None] = Counter()
    for message in messages:
        if message.role == "tool":
            if waiting[message.tool_call_id] < 1:
                return "a result without its call"
            waiting[message.tool_call_id] -= 1
        elif any(waiting.values()):
            return "an unanswered call"
        else:
            waiting = Counter(call.id for call in message.tool_calls)
    return ""


def cost(messages: Sequence[Message], counter: MessageCounter) -> int:
    """The token sum, computed without the counter's own method."""
    tokens = counter.priming
    for message in messages:
        tokens += counter.per_message + counter.count(message.content)
        tokens += sum(
            counter.count(c.name) + counter.count(c.arguments) for c in message.tool_calls
        )
    return tokens


def check(
    window: Window,
    whole: Sequence[Message],
    room: int,
    counter: MessageCounter,
    *,
    tokens: bool = True,
) -> None:
    """X19 and X12: a list of everything that makes a window invalid."""
    kept, dropped = positions(window.messages, whole), positions(window.dropped, whole)
    assert kept == sorted(kept)
    assert dropped == sorted(dropped)
    assert sorted(kept + dropped) == list(range(len(whole)))
    assert must_stay(whole) <= set(kept)
    assert refused_by_an_api(window.messages) == ""
    assert not tokens or window.tokens == cost(window.messages, counter)
    assert window.limit == room
    assert window.over_budget == (window.tokens > room)
    assert [at for run in window.left_out for at in range(run.start, run.stop)] == dropped
    assert sum(window.reasons.values()) == len(dropped)
