"""A manager after any sequence of operations, compared with a plain list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from kefu.context import (
    BYTES4,
    STRATEGIES,
    Budget,
    Message,
    MessageContextManager,
    MessageCounter,
    Removed,
    ToolCall,
    window_for,
)
from kefu.context.tokens import estimate_message_tokens
from tests.unit.context.histories import check, head_of, histories, positions

COUNTER = MessageCounter(estimate_message_tokens, 1, 2)


@dataclass
class Told:
    """The messages that the manager should have, with their ids."""

    talk: MessageContextManager
    items: list[tuple[int, Message]] = field(default_factory=list)
    next_id: int = 0

    def messages(self) -> list[Message]:
        return [message for _, message in self.items]

    def add(self, message: Message) -> None:
        forecast = self.talk.can_add(message)
        before = self.talk.state().messages
        assert self.talk.add(message) == self.next_id
        assert self.talk.over_limit == (not forecast.fits)
        state = self.talk.state()
        assert (state.messages, state.remaining) == (before + 1, forecast.remaining)
        self.items.append((self.next_id, message))
        self.next_id += 1

    def clear(self) -> None:
        self.talk.clear()
        del self.items[head_of(self.messages()) :]

    def compact(self) -> None:
        dropped = positions(self.talk.window().dropped, self.messages())
        removed = self.talk.compact().removed
        assert [r.id for r in removed] == [self.items[at][0] for at in dropped]
        self.forget(removed)

    def forget(self, removed: Sequence[Removed]) -> None:
        gone = {r.id for r in removed}
        self.items = [item for item in self.items if item[0] not in gone]

    def pin(self, which: int, pinned: bool) -> None:
        if self.items:
            at = which % len(self.items)
            id, message = self.items[at]
            self.talk.pin(id, pinned)
            new = self.talk.messages[at]
            assert (new.pinned, new.role, new.content) == (pinned, message.role, message.content)
            self.items[at] = id, new

    async def summarize(self, answer: str, late: Message) -> None:
        async def tell(messages: Sequence[Message], previous: str) -> str:
            self.add(late)
            return answer

        at = head_of(self.messages())
        removed = (await self.talk.summarize(tell)).removed
        assert bool(removed) <= bool(answer)
        if removed:
            self.forget(removed)
            self.items.insert(at, (self.next_id, self.talk.messages[at]))
            assert self.items[at][1].summary
            assert {r.summary_id for r in removed} <= {self.next_id, None}
            self.next_id += 1


steps = st.one_of(
    st.tuples(st.just("add"), histories),
    st.tuples(st.just("summarize"), st.sampled_from(["", "told", "again " * 20])),
    st.tuples(st.just("pin"), st.tuples(st.integers(0, 99), st.booleans())),
    st.tuples(st.just("calibrate"), st.integers(0, 200)),
    st.tuples(st.just("budget"), st.integers(0, 120)),
    st.tuples(st.sampled_from(["compact", "clear"]), st.none()),
)


@given(
    name=st.sampled_from([*STRATEGIES, "summary"]),
    script=st.lists(steps, max_size=8),
    cut=st.sampled_from([0.0, 0.3]),
)
async def test_no_sequence_of_operations_makes_an_invalid_window(
    name: str, script: Sequence[tuple[str, object]], cut: float
) -> None:
    """X6, X13, X19: no message is lost, doubled or moved, and every prediction is correct."""
    talk = MessageContextManager(Budget(30, 0, cut), strategy=name, counter=COUNTER)
    told = Told(talk)
    calibrated = False
    for operation, argument in script:
        match operation, argument:
            case "add", list() as messages:
                for message in messages:
                    told.add(message)
            case "summarize", str() as answer:
                await told.summarize(answer, Message("assistant", "late"))
            case "pin", (int() as which, bool() as pinned):
                told.pin(which, pinned)
            case "calibrate", int() as tokens:
                talk.calibrate(tokens)
                calibrated = True
            case "budget", int() as room:
                talk.budget = Budget(room, 0, cut)
            case "compact", _:
                told.compact()
            case _:
                told.clear()
                calibrated = False
        holds(told, "fifo" if name == "summary" else name, calibrated)


def holds(told: Told, name: str, calibrated: bool) -> None:
    talk, whole = told.talk, told.messages()
    previous_cut = talk.dump().cut
    window, state = talk.window(), talk.state()
    assert positions(talk.messages, whole) == list(range(len(whole)))
    check(window, whole, talk.budget.room, COUNTER, tokens=not calibrated)
    assert state.roles == Counter("summary" if m.summary else m.role for m in whole)
    assert (state.dropped, state.over_budget) == (len(window.dropped), window.over_budget)
    if not calibrated and not previous_cut:
        assert window == window_for(whole, talk.budget, name, COUNTER)


def test_what_is_never_sent_is_forecast_to_cost_nothing() -> None:
    """预估容量: a result without its call, and a call without a result before the next message."""
    talk = MessageContextManager(Budget(10, reserve=0), counter=BYTES4)
    stray = Message("tool", "r" * 80, tool_call_id="1")
    assert talk.can_add(stray) == (True, False, 20, 10)
    talk.add(stray)
    assert not talk.over_limit
    talk.add(Message("assistant", "aaaa", (ToolCall("1", "f" * 20, ""),)))
    assert talk.state().used == 6
    assert talk.can_add(Message("user", "bbbb")).remaining == 9
    talk.add(Message("user", "bbbb"))
    assert talk.state().used == 1
