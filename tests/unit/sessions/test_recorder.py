"""P10, P13, P17: what follows the answer of a turn, its lease and its outcome, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kefu.errors import AnswerCancelled, ClientGone, StoreUnavailable, UpstreamUnavailable
from kefu.relay.chunks import chunk_of
from kefu.sessions.background import WAIT, BackgroundWriter
from kefu.sessions.call_log import Recording
from kefu.sessions.hooks import Filter
from kefu.sessions.message_processor import MessageProcessor
from kefu.sessions.model import (
    LEASE,
    BeginResult,
    NewMessage,
    Retention,
    Session,
    SessionId,
    TurnOutcome,
)
from kefu.sessions.recorder import RENEW_AFTER, RENEW_AGAIN, PersistenceDeps, TurnRecorder
from tests.fakes.chats_in_memory import ChatsInMemory
from tests.fakes.relaying import CLOCK, in_virtual_time

CHAT = SessionId("a" * 32)
Step = Callable[[], Any]


class Store(ChatsInMemory):
    """A store that takes its time, and that is away for a while."""

    def __init__(self) -> None:
        super().__init__(CLOCK.now, Retention())
        self.renewed: list[float] = []
        self.finished: list[tuple[float, TurnOutcome]] = []
        self.renewing = self.finishing = 0.0
        """Seconds of a renewal, and of saving an outcome."""
        self.away_until = 0.0

    def _check(self) -> None:
        if CLOCK.monotonic() < self.away_until:
            raise StoreUnavailable("away")

    async def renew(self, *given: Any) -> bool:
        self.renewed.append(CLOCK.monotonic())
        self._check()
        await asyncio.sleep(self.renewing)
        return await super().renew(*given)

    async def finish(self, *given: Any) -> Any:
        self.finished.append((CLOCK.monotonic(), given[2]))
        self._check()
        await asyncio.sleep(self.finishing)
        return await super().finish(*given)


class Turn:
    """A turn that has begun, with its recorder."""

    def __init__(self, *filters: Filter) -> None:
        self.store = Store()
        self.lost = 0
        self.unsaved: list[str] = []
        self.followed: list[TurnOutcome] = []
        self.writer = BackgroundWriter(self.unsaved.append)
        self._filters = filters

    async def begin(self, *, replaces: str = "") -> TurnRecorder:
        now = CLOCK.now()
        chat, asked = Session(CHAT, "", "default", now, now), NewMessage("question", "id")
        begun = await self.store.begin(chat, asked, now)
        if replaces:
            await self.store.finish(CHAT, 1, TurnOutcome("ok", replaces), now)
            self.store.finished.clear()
            begun = await self.store.begin(chat, asked._replace(again=True), now)
        return self.recorder(begun)

    def recorder(self, begun: BeginResult) -> TurnRecorder:
        recording = Recording("all", lambda text: text.replace("secret", "[key]"), "h")
        deps = PersistenceDeps(self.store, self.writer, CLOCK, recording, MessageProcessor())
        return TurnRecorder(
            deps, begun, CLOCK.now(), CLOCK.monotonic(), lambda _: self._filters, self._after
        )

    def _after(self, ended: TurnOutcome, answered: bool | None) -> None:
        self.followed.append(ended)

    def lose(self) -> None:
        self.lost += 1

    async def stored(self) -> list[tuple[str, str]]:
        messages = await self.store.messages(CHAT, now=CLOCK.now())
        return [(message.content, message.status) for message in messages]


async def feed(recorder: TurnRecorder, *texts: str) -> None:
    for one in texts:
        await recorder.show([chunk_of({"choices": [{"index": 0, "delta": {"content": one}}]})])


@in_virtual_time
async def test_p17_the_lease_is_renewed_each_half_of_its_time_until_the_answer_is_saved() -> None:
    turn = Turn()
    recorder = await turn.begin()
    holding = asyncio.create_task(recorder.hold(turn.lose))
    await asyncio.sleep(3.5 * RENEW_AFTER)
    assert turn.store.renewed == [RENEW_AFTER, 2 * RENEW_AFTER, 3 * RENEW_AFTER]
    [message] = await turn.store.messages(CHAT, now=CLOCK.now())
    assert message.status == "pending"
    await feed(recorder, "answer")
    await recorder.end(None, None)
    await asyncio.wait_for(holding, LEASE)
    assert turn.lost == 0
    assert turn.store.renewed[3:] in ([], [4 * RENEW_AFTER])


@in_virtual_time
async def test_p17_a_failed_renewal_is_retried_soon_and_ends_nothing() -> None:
    turn = Turn()
    recorder = await turn.begin()
    turn.store.away_until = RENEW_AFTER + 3.5 * RENEW_AGAIN
    holding = asyncio.create_task(recorder.hold(turn.lose))
    back = RENEW_AFTER + 4 * RENEW_AGAIN
    await asyncio.sleep(back + RENEW_AFTER + 0.1)
    expected = [RENEW_AFTER + number * RENEW_AGAIN for number in range(5)]
    assert turn.store.renewed == pytest.approx([*expected, back + RENEW_AFTER])
    assert turn.lost == 0
    holding.cancel()
    assert turn.store.renewed[4] < LEASE, "the lease has not ended meanwhile"


@pytest.mark.parametrize("how", ["deleted", "taken"])
@in_virtual_time
async def test_p17_a_lost_turn_is_reported_once_and_not_renewed_again(how: str) -> None:
    turn = Turn()
    recorder = await turn.begin()
    if how == "deleted":
        await turn.store.delete(CHAT)
    else:
        later = CLOCK.now() + LEASE + 1  # of a process whose clock is ahead
        chat = Session(CHAT, "", "default", later, later)
        await turn.store.begin(chat, NewMessage("question", "id"), later)
    await recorder.hold(turn.lose)
    assert (turn.lost, turn.store.renewed) == (1, [RENEW_AFTER])


@in_virtual_time
async def test_p17_a_turn_that_is_being_saved_is_not_lost() -> None:
    """M3: a renewal is under way while the outcome is saved. It finds the turn ended, which must
    not end the answer with an error.
    """
    turn = Turn()
    recorder = await turn.begin()
    turn.store.renewing = 2.0
    holding = asyncio.create_task(recorder.hold(turn.lose))
    await asyncio.sleep(RENEW_AFTER + 1)
    assert turn.store.renewed
    await feed(recorder, "answer")
    await recorder.end(None, None)
    await asyncio.wait_for(holding, LEASE)
    assert turn.lost == 0
    assert await turn.stored() == [("question", "ok"), ("answer", "ok")]


@in_virtual_time
async def test_p13_the_first_outcome_is_saved_and_later_ones_only_wait() -> None:
    turn = Turn()
    recorder = await turn.begin()
    await feed(recorder, "answer")
    await recorder.end(None, None)
    await recorder.end(None, ClientGone())
    [(_, ended)] = turn.store.finished
    assert ended == TurnOutcome("ok", "answer")
    assert [ended.text for ended in turn.followed] == ["answer"]


REASONS = [
    (None, "ok"),
    (AnswerCancelled(), "partial"),
    (ClientGone(), "partial"),
    (asyncio.CancelledError(), "partial"),
    (UpstreamUnavailable("cut"), "partial"),
    (ValueError("a bug"), "partial"),
]


@pytest.mark.parametrize(("error", "status"), REASONS)
@in_virtual_time
async def test_p13_an_answer_with_text_is_whole_or_partial(
    error: BaseException | None, status: str
) -> None:
    turn = Turn()
    recorder = await turn.begin()
    await feed(recorder, "an ", "answer")
    await recorder.end(None, error)
    assert await turn.stored() == [("question", status), ("an answer", status)]


@pytest.mark.parametrize("former", ["", "former"])
@pytest.mark.parametrize(("error", "status"), REASONS)
@in_virtual_time
async def test_p13_an_error_before_any_text_is_a_failure_but_a_visitor_who_left_is_none(
    error: BaseException | None, status: str, former: str
) -> None:
    """M3. A message that has a former answer keeps it as a complete one."""
    turn = Turn()
    recorder = await turn.begin(replaces=former)
    await recorder.end(None, error)
    left = isinstance(error, AnswerCancelled | ClientGone | asyncio.CancelledError)
    [(_, ended)] = turn.store.finished
    assert (ended.status, ended.text) == ("failed" if former or not left else "partial", "")
    asked = "ok" if former else ended.status
    assert await turn.stored() == [("question", asked), *([(former, "ok")] if former else [])]


@in_virtual_time
async def test_d6_an_answer_waits_a_second_for_its_store_which_saves_it_later() -> None:
    turn = Turn()
    recorder = await turn.begin()
    turn.store.finishing = 5.0
    await feed(recorder, "answer")
    await recorder.end(None, None)
    assert CLOCK.monotonic() == pytest.approx(WAIT)
    await recorder.written(60)
    assert CLOCK.monotonic() == pytest.approx(5)
    assert await turn.stored() == [("question", "ok"), ("answer", "ok")]


@pytest.mark.parametrize("away", [1.0, 60.0])
@in_virtual_time
async def test_d6_a_failed_write_is_retried_and_reported_without_texts(away: float) -> None:
    turn = Turn()
    recorder = await turn.begin()
    turn.store.away_until = away
    await feed(recorder, "answer")
    await recorder.end(None, None)
    await recorder.written(60)
    tries = [at for at, _ in turn.store.finished]
    times = [0.0, 0.5, 2.5, 10.5]
    assert tries == pytest.approx(times[: len(tries)])
    assert turn.unsaved == ([] if away < 2 else [f"the end of message 1 of session {CHAT}"])


@in_virtual_time
async def test_d6_a_write_that_hangs_is_given_up_and_tried_again() -> None:
    turn = Turn()
    recorder = await turn.begin()
    turn.store.finishing = 1000.0
    await feed(recorder, "answer")
    await recorder.end(None, None)
    turn.store.finishing = 0.0  # of the next try
    await recorder.written(60)
    assert CLOCK.monotonic() == pytest.approx(10 + 0.5)
    assert turn.unsaved == []
    assert await turn.stored() == [("question", "ok"), ("answer", "ok")]


class Held(Filter):
    """A filter that holds all text to the end, and then fails if `error` is set."""

    def __init__(self, error: Exception | None = None) -> None:
        self.held = ""
        self.error = error

    def feed(self, text: str) -> str:
        self.held += text
        return ""

    def close(self) -> str:
        if self.error:
            raise self.error
        return self.held.upper()


@in_virtual_time
async def test_p26_text_that_filters_hold_is_saved_also_when_the_answer_is_cut() -> None:
    turn = Turn(Held())
    recorder = await turn.begin()
    await feed(recorder, "half")
    assert recorder.text() == ""
    await recorder.end(None, UpstreamUnavailable("cut"))
    assert await turn.stored() == [("question", "partial"), ("HALF", "partial")]


@in_virtual_time
async def test_p13_the_outcome_is_saved_also_when_a_filter_fails() -> None:
    """Otherwise the message would be busy until its lease ends."""
    turn = Turn(Held(ValueError("a bug")))
    recorder = await turn.begin()
    await feed(recorder, "half")
    with pytest.raises(ValueError, match="a bug"):
        await recorder.end(None, None)
    await recorder.written(1)
    assert await turn.stored() == [("question", "failed")]


@pytest.mark.parametrize(
    ("pieces", "saved"),
    [
        (["\ud83d", "\ude00"], "😀"),
        (["a", "\ud83d"], "a\ufffd"),
        (["my sec", "ret"], "my [key]"),
        (["  text \n"], "text"),
    ],
)
@in_virtual_time
async def test_p12_the_saved_answer_is_text_of_whole_characters_without_secrets(
    pieces: list[str], saved: str
) -> None:
    turn = Turn()
    recorder = await turn.begin()
    await feed(recorder, *pieces)
    await recorder.end(None, None)
    assert (await turn.stored())[1:] == [(saved, "ok")]


@in_virtual_time
async def test_p13_a_reply_without_the_model_is_saved_and_followed() -> None:
    turn = Turn()
    recorder = await turn.begin()
    await recorder.end_with("my secret reply")
    assert await turn.stored() == [("question", "ok"), ("my [key] reply", "ok")]
    assert [ended.text for ended in turn.followed] == ["my [key] reply"]


@in_virtual_time
async def test_p17_the_outcome_of_a_deleted_turn_is_not_saved() -> None:
    turn = Turn()
    recorder = await turn.begin()
    await feed(recorder, "answer")
    await turn.store.delete(CHAT)
    await recorder.end(None, None)
    assert (await turn.stored(), turn.unsaved) == ([], [])


@in_virtual_time
async def test_p17_the_outcome_of_a_turn_that_another_request_owns_is_not_saved() -> None:
    turn = Turn()
    first = await turn.begin()
    await feed(first, "answer of the first")
    later = CLOCK.now() + LEASE + 1
    chat = Session(CHAT, "", "default", later, later)
    second = turn.recorder(await turn.store.begin(chat, NewMessage("question", "id"), later))
    await first.end(None, None)
    assert await turn.stored() == [("question", "pending")]
    await feed(second, "answer of the second")
    await second.end(None, None)
    assert await turn.stored() == [("question", "ok"), ("answer of the second", "ok")]
    assert turn.unsaved == []
