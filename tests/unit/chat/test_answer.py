"""P3 to P13, C1 to C12: the steps of one answer, in order, without HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from kefu.auth.bot_check import Proof
from kefu.chat.admission import Admission, Allowance
from kefu.chat.answer import make_answer
from kefu.chat.completion import Chat, Question
from kefu.chat.conversation import KnownAnswer, RequestedConversation, Stateless
from kefu.chat.grounding import Grounder, PassageBudget
from kefu.chat.limits import Rate
from kefu.chat.output_filter import TextFilter
from kefu.chat.prompt import PromptPolicy, Sampling
from kefu.chat.services import Services
from kefu.chat.state import Answer, AnswerEvent, Done, SessionAccess, SourcesFound
from kefu.context.tokens import estimate_tokens_v1
from kefu.errors import (
    BudgetExhausted,
    ClientGone,
    GatewayTimeout,
    KefuError,
    RateLimited,
    UpstreamUnavailable,
)
from kefu.knowledge.finding import PassageHit
from kefu.messages import Message
from kefu.relay.chunks import Chunk
from kefu.relay.key_pool import KeyPool
from kefu.relay.relay import Relay
from kefu.sessions.store.model import SessionId
from kefu.sessions.turn.message import KeptConversation
from kefu.sessions.turn.service import IncomingMessage
from kefu.stores.memory import MemoryStore
from tests.fakes.chats_in_memory import ChatsInMemory
from tests.fakes.daily_budget import budget_left
from tests.fakes.in_process import Process
from tests.fakes.spoken import HandClock, Say, Spoken, until

QUESTION = Question([Message("user", "Where is my parcel?")], Sampling("m", 0.5, 100))
DAILY = 10_000


class House:
    """The services that `answer` uses, with a scripted model, and a record of the steps."""

    def __init__(self, *answers: str | Say, **limits: Any) -> None:
        self.clock = HandClock()
        self.steps: list[str] = []
        self.model = Spoken(*answers)
        store = MemoryStore(self.clock.now)
        self.store = store
        relay = Relay(self.model, KeyPool(["one key"]), store, self.clock)
        allowance = Allowance(**{"daily_tokens": DAILY, **limits})
        self.admission = Admission(store, self.clock, allowance)
        chat = Chat(relay, PromptPolicy(), Sampling("m"), self.clock)
        self.services = Services(self.admission, chat, [lambda: self.steps.append("prefetch")])

    def answer(self) -> Answer:
        return Answer("request", self.clock.monotonic(), "1.2.3.4", Proof())

    async def answered(
        self, conversation: RequestedConversation, made: Answer | None = None
    ) -> list[AnswerEvent]:
        events = make_answer(made or self.answer(), conversation, self.services)
        return [event async for event in events]

    async def spent(self) -> int:
        """The tokens used from today's budget."""
        return DAILY - await budget_left(self.admission, DAILY)


def text_of(events: list[AnswerEvent]) -> str:
    chunks: list[Chunk] = [chunk for event in events if isinstance(event, list) for chunk in event]
    choices: list[Any] = [chunk.body["choices"] for chunk in chunks if chunk.has_choices]
    return "".join(choice[0]["delta"].get("content") or "" for choice in choices)


class Witnessed(Stateless):
    """A conversation that records each step, and how the answer ended."""

    is_stored = True

    def __init__(self, house: House, *, is_new: bool = False, known: str | None = None) -> None:
        super().__init__(QUESTION)
        self.steps = house.steps
        self.is_new = is_new
        self._known = known
        self.ended: BaseException | str = "not at all"

    async def open(self) -> SessionAccess | None:
        self.steps.append("open")
        return SessionAccess("session", "token")

    async def save_question(self) -> KnownAnswer | None:
        self.steps.append("save question")
        return None if self._known is None else KnownAnswer(self._known, 1.0)

    @asynccontextmanager
    async def answering(self, answer: Answer) -> AsyncIterator[None]:
        self.steps.append("hold")
        try:
            yield
        except BaseException as error:
            self.ended = answer.reason or error
            raise
        else:
            self.ended = "whole"
        finally:
            self.steps.append("save answer")

    async def question(self) -> Question:
        self.steps.append("load history")
        return await super().question()

    def filters(self, field: str) -> Sequence[TextFilter]:
        return (Shown(self.steps),)


class Shown:
    """A filter that changes nothing, and records that it was given a text."""

    def __init__(self, steps: list[str]) -> None:
        self._steps = steps

    def feed(self, text: str) -> str:
        self._steps.append("show")
        return text

    def close(self) -> str:
        return ""


async def test_the_steps_of_an_answer_are_taken_in_their_order() -> None:
    house = House("On its way.")
    conversation = Witnessed(house)
    events = await house.answered(conversation)
    assert text_of(events) == "On its way."
    assert isinstance(events[-1], Done)
    once = list(dict.fromkeys(house.steps))
    assert once == [
        "prefetch",
        "open",
        "save question",
        "hold",
        "load history",
        "show",
        "save answer",
    ]
    assert conversation.ended == "whole"


async def test_a_stateless_request_takes_the_same_steps_and_pays_for_its_text() -> None:
    house = House("On its way.")
    made = house.answer()
    assert text_of(await house.answered(Stateless(QUESTION), made)) == "On its way."
    dialogue = made.dialogue
    assert dialogue
    assert dialogue.usage.prompt == estimate_tokens_v1("Where is my parcel?")
    assert await house.spent() == dialogue.spent
    assert made.session is None


@pytest.mark.parametrize(
    ("limit", "steps"),
    [
        ("per_ip", ["prefetch"]),
        ("per_session", ["prefetch", "open"]),
        ("site", ["prefetch", "open"]),
    ],
)
async def test_t1_each_limit_stops_a_request_before_anything_is_saved(
    limit: str, steps: list[str]
) -> None:
    house = House("On its way.", **{limit: Rate(1, 60)})
    await house.answered(Witnessed(house))
    house.steps.clear()
    with pytest.raises(RateLimited):
        await house.answered(Witnessed(house))
    assert house.steps == steps
    assert len(house.model.asked) == 1


async def test_a_new_chat_is_not_counted_by_the_limit_of_chats() -> None:
    house = House("On its way.", per_session=Rate(1, 60))
    for _ in range(3):
        await house.answered(Witnessed(house, is_new=True))


async def test_p17_a_known_answer_asks_no_model() -> None:
    house = House("never")
    made = house.answer()
    known = Witnessed(house, known="Said before.")
    assert text_of(await house.answered(known, made)) == "Said before."
    assert house.model.asked == []
    assert await house.spent() == 0
    assert made.is_saved


async def test_an_error_of_the_model_is_raised_and_saved() -> None:
    house = House(Say(status=503))
    conversation = Witnessed(house)
    with pytest.raises(UpstreamUnavailable):
        await house.answered(conversation)
    assert isinstance(conversation.ended, UpstreamUnavailable)
    assert await house.spent() == 0


async def test_a_budget_that_is_spent_is_said_after_the_question_was_saved() -> None:
    house = House("never", daily_tokens=50)
    made = house.answer()
    with pytest.raises(BudgetExhausted):
        await house.answered(Witnessed(house), made)
    assert house.model.asked == []
    assert made.is_saved


@pytest.mark.parametrize("reason", [ClientGone(), GatewayTimeout("The answer took too long.")])
async def test_c2_a_stop_closes_the_model_saves_its_reason_and_pays(reason: Exception) -> None:
    house = House(Say("half an answer", hangs=True))
    conversation = Witnessed(house)
    made = house.answer()

    async def run() -> None:
        with made.made_here():
            async with aclosing(make_answer(made, conversation, house.services)) as events:
                async for _ in events:
                    pass

    running = asyncio.create_task(run())
    await until(lambda: "show" in house.steps)
    made.stop(reason)
    with pytest.raises(type(reason)):
        await running
    assert conversation.ended is reason
    assert house.model.closed
    assert await house.spent() > estimate_tokens_v1("Where is my parcel?")


async def test_c2_a_caller_that_stops_reading_ends_the_request_and_frees_its_slot() -> None:
    house = House(Say("half an answer", hangs=True), streams=1)
    conversation = Witnessed(house)
    async with aclosing(make_answer(house.answer(), conversation, house.services)) as events:
        await anext(events)
        with pytest.raises(KefuError):
            await house.answered(Stateless(QUESTION))
    assert isinstance(conversation.ended, GeneratorExit)
    assert house.model.closed
    house.model.answers = [Say("free again")]
    assert text_of(await house.answered(Stateless(QUESTION))) == "free again"


async def test_p6_p13_a_kept_chat_answers_without_http_and_is_stored() -> None:
    clock = HandClock()
    store = ChatsInMemory(clock.now)
    process = Process(store, Spoken("On its way."), clock)
    asking = IncomingMessage("Where is my parcel?", "1.2.3.4", "request")
    conversation = KeptConversation(process.sessions, asking, clock.monotonic())
    made = Answer("request", clock.monotonic(), "1.2.3.4", Proof())
    events = [e async for e in make_answer(made, conversation, process.runtime.services)]
    assert text_of(events) == "On its way."
    session = made.session
    assert session
    kept = await store.messages(SessionId(session.id), now=clock.now())
    assert [(m.role, m.content, m.status) for m in kept] == [
        ("user", "Where is my parcel?", "ok"),
        ("assistant", "On its way.", "ok"),
    ]


class Nothing:
    """Learnt pages that answer no question."""

    languages = ("en",)

    async def find(self, question: str, before: Sequence[str], limit: int) -> Sequence[PassageHit]:
        return ()


async def test_a_kept_answer_without_text_shows_nothing_also_with_learnt_pages() -> None:
    """Its status is then that of the error: no chunk before it has sent the headers."""
    clock = HandClock()
    process = Process(ChatsInMemory(clock.now), Spoken(""), clock)
    services = process.runtime.services._replace(
        grounder=Grounder(Nothing(), PassageBudget(100, 1000))
    )
    asking = IncomingMessage("Where is my parcel?", "1.2.3.4", "request")
    conversation = KeptConversation(process.sessions, asking, clock.monotonic())
    made = Answer("request", clock.monotonic(), "1.2.3.4", Proof())
    events = make_answer(made, conversation, services)
    assert await anext(events) == SourcesFound([])
    with pytest.raises(UpstreamUnavailable):
        await anext(events)
