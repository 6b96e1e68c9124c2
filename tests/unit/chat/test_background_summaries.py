"""X9: summaries in a running chat are used one turn later, cost little, and never delay an
answer.
"""

from __future__ import annotations

import asyncio
from typing import Any

from kefu.chat.admission import Admission, Allowance
from kefu.chat.completion import Chat, Question
from kefu.chat.own_cooldowns import OwnCooldowns
from kefu.chat.prompt import PromptPolicy, TrimPolicy
from kefu.chat.summaries import Summaries, SummaryCall
from kefu.context import CALIBRATED, Budget
from kefu.errors import KefuError
from kefu.messages import Message
from kefu.relay.key_pool import KeyPool
from kefu.relay.relay import Relay
from kefu.relay.time_limits import RelayOptions
from kefu.stores.memory import MemoryStore
from tests.fakes.relaying import in_virtual_time
from tests.fakes.spoken import Say, Spoken, SpokenResponse
from tests.fakes.virtual_time import VirtualClock

TURNS = 60
THINKS, WRITES = 4.0, 3.0
"""Seconds that a visitor takes for a question, and the model for a summary."""
QUESTION = "Where is my order {turn}? I have been waiting for it since last week, as I wrote. "
ANSWER = "It left the warehouse on Tuesday, and it should be with you by the weekend, at latest."


class Model(Spoken):
    """A model that answers at once, and writes summaries slowly or never."""

    def __init__(self, summary: Say) -> None:
        super().__init__(Say(ANSWER))
        self.summary = summary
        self.summaries = 0

    async def send(self, body: bytes, secret: str) -> SpokenResponse:
        if b"<conversation>" not in body:
            return await super().send(body, secret)
        self.summaries += 1
        await asyncio.sleep(WRITES)
        return SpokenResponse(self, self.summary)


class HookContext:
    """A conversation of `TURNS` turns, and its results."""

    def __init__(self, summary: Say, room: int) -> None:
        clock = VirtualClock()
        store = MemoryStore(clock.now)
        self.model = Model(summary)
        pool = KeyPool(["one key"])
        admission = Admission(store, clock, Allowance())
        summarizing = Relay(
            self.model, pool, OwnCooldowns(store), clock, RelayOptions(max_retries=0)
        )
        trim = TrimPolicy("summary", Budget(room, reserve=0), CALIBRATED)
        policy = PromptPolicy("You answer for a shop.", trim=trim)
        self.chat = Chat(
            Relay(self.model, pool, store, clock),
            policy,
            "m",
            clock,
            Summaries(summarizing, admission, "m", clock),
        )
        self.calls: list[SummaryCall] = []
        self.long = self.with_summary = self.failed = 0
        self.waited: list[float] = []

    async def run(self, turns: int = TURNS) -> None:
        messages: list[Message] = []
        clock = VirtualClock()
        for turn in range(turns):
            await asyncio.sleep(THINKS)
            messages.append(Message("user", QUESTION.format(turn=turn) * 2))
            started = clock.monotonic()
            dialogue = self.chat.prepare(Question(messages, 0.5, 100), started, str(turn))
            try:
                answer = await self.chat.start(dialogue, self.calls.append)
                async for _ in answer.batches():
                    pass
                await answer.aclose()
            except KefuError:
                self.failed += 1
            self.waited.append(clock.monotonic() - started)
            self.long += bool(dialogue.prompt.window.dropped)
            self.with_summary += any(m.summary for m in dialogue.prompt.window.messages)
            messages.append(Message("assistant", ANSWER))
        self.chat.close()


@in_virtual_time
async def test_a_summary_is_in_the_prompts_of_long_turns_and_nobody_waits_for_it() -> None:
    visit = HookContext(Say("They asked where an order is. It left on Tuesday."), 1500)
    await visit.run()
    assert visit.failed == 0
    assert visit.long > 30
    assert visit.with_summary >= 0.9 * visit.long
    assert visit.model.summaries <= TURNS / 8
    assert visit.model.summaries == len(visit.calls)
    assert max(visit.waited) == 0


@in_virtual_time
async def test_a_dead_summarizer_changes_nothing_but_that_there_is_no_summary() -> None:
    for dead in (Say("down", status=500), Say(""), Say("limited", status=429)):
        visit = HookContext(dead, 500)
        await visit.run(25)
        assert visit.failed == 0
        assert visit.with_summary == 0
        assert visit.long > 5
        assert 1 <= visit.model.summaries <= 3
        assert max(visit.waited) == 0
        last: Any = visit.model.asked[-1]
        assert QUESTION.format(turn=24).strip() in last["messages"][-1]["content"]
