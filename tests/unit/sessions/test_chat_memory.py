"""X9, X11: the cut and the summary of a stored chat are kept with it, not by a process."""

from __future__ import annotations

import asyncio

import pytest

from kefu.chat.prompt import PromptPolicy, TrimPolicy
from kefu.context import CALIBRATED, Budget, TrimState
from kefu.messages import Message
from kefu.sessions.store.model import Retention, SessionId
from kefu.sessions.turn.history import ChatMemory
from tests.fakes.chats_in_memory import ChatsInMemory
from tests.fakes.in_process import Answer, Process
from tests.fakes.relaying import in_virtual_time
from tests.fakes.spoken import Say, Spoken, SpokenResponse
from tests.fakes.virtual_time import VirtualClock

SUMMARIZING = PromptPolicy(trim=TrimPolicy("summary", Budget(300, reserve=0), CALIBRATED))
STEPPING = PromptPolicy(trim=TrimPolicy("fifo", Budget(300, 0, 0.5), CALIBRATED))
QUESTION = "Where is my order {turn}? I have been waiting for it since last week, as I wrote. "
WRITES = 3.0
"""Seconds for a summary."""


class Model(Spoken):
    """Answers at once and summarizes slowly; numbers its summaries."""

    def __init__(self) -> None:
        super().__init__(Say("It left the warehouse on Tuesday, and is with you by the weekend."))
        self.summaries: list[bytes] = []

    async def send(self, body: bytes, secret: str) -> SpokenResponse:
        if b"<conversation>" not in body:
            return await super().send(body, secret)
        self.summaries.append(body)
        number = len(self.summaries)
        await asyncio.sleep(WRITES)
        return SpokenResponse(self, Say(f"Summary {number}."))

    @property
    def prompt(self) -> str:
        """The messages of the last question."""
        return str(self.asked[-1]["messages"])


class Store(ChatsInMemory):
    """Counts how often a state of trimming is saved."""

    saved = 0

    async def save_trim_state(self, session_id: SessionId, state: str) -> None:
        self.saved += 1
        await super().save_trim_state(session_id, state)


class Site:
    """Two processes that share a store, as two instances of a Lambda function do."""

    def __init__(self, policy: PromptPolicy) -> None:
        self.clock = VirtualClock()
        self.model = Model()
        self.store = Store(self.clock.now, Retention())
        self.processes = [self.process(policy) for _ in range(2)]
        self.last: Answer | None = None

    def process(self, policy: PromptPolicy) -> Process:
        return Process(self.store, self.model, self.clock, policy=policy)

    async def ask(self, turn: int, process: int) -> str:
        """The prompt that the model received."""
        text = QUESTION.format(turn=turn)
        self.last = await self.processes[process].ask(text, self.last)
        assert self.last.status == 200
        return self.model.prompt

    @property
    def session_id(self) -> SessionId:
        assert self.last
        return SessionId(self.last.headers["x-session-id"])

    async def state(self) -> TrimState:
        session = await self.store.session(self.session_id)
        assert session
        return TrimState.load(session.trim_state)


@in_virtual_time
async def test_another_process_uses_the_summary_of_a_stored_chat() -> None:
    """For as long as it covers the chat's start, although the history starts ever later."""
    site = Site(SUMMARIZING)
    prompts = []
    for turn in range(30):
        prompts.append(await site.ask(turn, process=turn % 2))
        await asyncio.sleep(WRITES + 1)
    first = next(at for at, prompt in enumerate(prompts) if "Summary 1." in prompt)
    assert first < 10
    assert all("Summary " in prompt for prompt in prompts[first:])
    for number, body in enumerate(site.model.summaries[1:], 1):
        assert f"summary so far: Summary {number}.".encode() in body
    assert 2 <= len(site.model.summaries) <= 10  # a summary frees half of the room: four turns


@in_virtual_time
async def test_no_turn_is_both_in_the_summary_and_in_the_prompt() -> None:
    site, known = Site(SUMMARIZING), 0
    for turn in range(25):
        prompt = await site.ask(turn, process=turn % 2)
        known = len(site.model.summaries)
        if known and f"Summary {known}." in prompt:
            told = site.model.summaries[-1].decode()
            both = [n for n in range(25) if f"order {n}?" in told and f"order {n}?" in prompt]
            assert both == []
        await asyncio.sleep(WRITES + 1)
    assert known


@in_virtual_time
async def test_a_state_is_saved_only_when_it_changes() -> None:
    site = Site(STEPPING)
    for turn in range(20):
        await site.ask(turn, process=turn % 2)
    cuts = site.store.saved
    assert 1 <= cuts <= 10
    state = await site.state()
    assert state == TrimState(cut=state.cut)
    assert state.cut > 1

    site = Site(PromptPolicy())
    for turn in range(12):
        await site.ask(turn, process=0)
    assert site.store.saved == 0


@in_virtual_time
async def test_most_of_a_long_chats_prompt_is_what_the_last_one_began_with() -> None:
    """X11: also when the number of turns limits the history, here to ten."""
    shares = {}
    for trim_step in (0.0, 0.4):
        site = Site(PromptPolicy(trim=TrimPolicy("v1", Budget(6000, 0, trim_step))))
        before: list[object] = []
        repeated = total = 0
        for turn in range(40):
            await site.ask(turn, process=turn % 2)
            prompt = list(site.model.asked[-1]["messages"])
            at = 0
            while at < min(len(prompt), len(before)) and prompt[at] == before[at]:
                at += 1
            repeated, total, before = repeated + at, total + len(prompt), prompt
        shares[trim_step] = repeated / total
    assert shares[0.0] < 0.3
    assert shares[0.4] > 0.7


@in_virtual_time
async def test_a_summary_that_ends_after_its_chat_was_deleted_is_not_stored() -> None:
    site = Site(SUMMARIZING)
    turn = 0
    while not site.model.summaries:
        await site.ask(turn, process=0)
        turn += 1
    await site.store.delete(site.session_id)
    await asyncio.sleep(WRITES + 1)
    assert await site.store.session(site.session_id) is None


@pytest.mark.parametrize("stored", ["{", "[]", '{"version": 1, "cut": "x"}', '{"version": 99}'])
@in_virtual_time
async def test_a_state_that_cannot_be_read_is_replaced(stored: str) -> None:
    site = Site(STEPPING)
    for turn in range(9):
        await site.ask(turn, process=0)
    await site.store.save_trim_state(site.session_id, stored)
    await site.ask(9, process=0)
    assert (await site.state()).cut > 1


def prompt(*contents: str) -> list[Message]:
    return [Message("system", "You answer."), *(Message("user", one) for one in contents)]


@pytest.mark.parametrize(
    ("ids", "position"),
    [
        ([3, 5, 7, 9], 3),
        ([5, 7, 9], 2),
        ([6, 7, 9], 1),  # what the state covers is not told any more
        ([1, 3, 5], 4),
        ([3, None, 5, None, 7], 4),  # of a hook
        ([None, 3, 7], 3),
        ([None], 1),
    ],
)
def test_x9_a_state_is_found_again_in_a_prompt_that_starts_at_another_message(
    ids: list[int | None], position: int
) -> None:
    """It names the message with the id 5."""
    saved: list[str] = []
    stored = TrimState(cut=5, summary="S", covers=5).dump()
    memory = ChatMemory(SessionId("s"), stored, ids, saved.append)
    messages = prompt(*("m" for _ in ids))
    found = memory.state(messages)
    assert (found.cut, found.covers, found.summary) == (position, position, "S")
    memory.note(messages, found._replace(cut=position))
    known = [id for id in ids[: position - 1] if id is not None]
    assert saved == (
        [] if known[-1:] == [5] else [TrimState(known[-1] if known else 0, "", "S", 5).dump()]
    )
