"""P17: the lease of a turn belongs to the request that answers it. The tests use virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from kefu.errors import StoreUnavailable
from kefu.sessions.store.model import LEASE, Retention
from kefu.sessions.store.overview import SessionFilter
from kefu.sessions.turn.recorder import RENEW_AFTER, RENEW_AGAIN
from tests.fakes.chats_in_memory import ChatsInMemory
from tests.fakes.in_process import Answer, Process
from tests.fakes.virtual_time import VirtualClock, run

CLOCK = VirtualClock()
PACE = 2.0
"""Seconds from one word of the model to the next."""

HEAD = '{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,'


@dataclass
class Words:
    """A model's answer that sends a word every two seconds."""

    words: int
    status: int = 200
    headers: Mapping[str, str] = field(
        default_factory=lambda: {"content-type": "text/event-stream"}
    )
    said: int = 0
    next_at: float = 0.0

    async def read(self, timeout: float) -> bytes:
        self.next_at = self.next_at or CLOCK.monotonic() + PACE
        wait = self.next_at - CLOCK.monotonic()
        await asyncio.sleep(min(wait, timeout))
        if wait > timeout:
            raise TimeoutError
        self.said, self.next_at = self.said + 1, 0.0
        if self.said > self.words:
            return (
                f'data: {HEAD}"delta":{{}},"finish_reason":"stop"}}]}}\n\ndata: [DONE]\n\n'.encode()
            )
        return f'data: {HEAD}"delta":{{"content":"{self.said} "}}}}]}}\n\n'.encode()

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    def finish(self) -> None:
        """Do nothing: there is no connection."""


class Model:
    def __init__(self, *words: int) -> None:
        self.asked = 0
        self._words = words

    async def send(self, body: bytes, secret: str) -> Words:
        self.asked += 1
        return Words(self._words[self.asked - 1])


class Store(ChatsInMemory):
    def __init__(self) -> None:
        super().__init__(CLOCK.now, Retention())
        self.renewed: list[float] = []
        self.away = False
        self.pause = 0.0

    async def session(self, *given: Any) -> Any:
        await asyncio.sleep(self.pause)
        return await super().session(*given)

    async def begin(self, *given: Any) -> Any:
        await asyncio.sleep(self.pause)
        return await super().begin(*given)

    async def messages(self, *given: Any, **more: Any) -> Any:
        await asyncio.sleep(self.pause)
        return await super().messages(*given, **more)

    async def renew(self, *given: Any) -> bool:
        self.renewed.append(CLOCK.monotonic())
        if self.away:
            raise StoreUnavailable("away")
        return await super().renew(*given)


def process(store: Store, model: Model) -> Process:
    return Process(store, model, CLOCK)


async def ask(one: Process, client_message_id: str | None = "one id") -> Answer:
    return await one.ask("question", client_message_id=client_message_id)


async def later(seconds: float, work: Any) -> Any:
    await asyncio.sleep(seconds)
    return await work()


async def whole(store: Store) -> tuple[Sequence[tuple[str, str]], list[tuple[int, bool]]]:
    """The `(content, status)` of each message, and the `(number, stream_complete)` of each call."""
    [row] = (await store.newest(SessionFilter(), None, 2, CLOCK.now())).rows
    messages = await store.messages(row.session.id, now=CLOCK.now())
    calls = await store.calls(row.session.id)
    return [(m.content, m.status) for m in messages], [(c.number, c.stream_complete) for c in calls]


def test_p17_an_answer_of_two_minutes_stays_its_requests_own() -> None:
    """The same message at another process is refused with 409 at any time."""

    async def work() -> None:
        store, model = Store(), Model(55)
        one, two = process(store, model), process(store, model)
        others = (later(at, partial(ask, two)) for at in (LEASE - 1, LEASE + 1, 59, 111))
        answer, *again = await asyncio.gather(ask(one), *others)
        assert answer.complete
        assert [(other.status, other.code) for other in again] == [(409, "session_busy")] * 4
        assert model.asked == 1
        assert (await ask(two)).text == answer.text.strip()
        messages, calls = await whole(store)
        assert messages == [("question", "ok"), (answer.text.strip(), "ok")]
        assert calls == [(1, True)]
        assert store.renewed == [RENEW_AFTER * count for count in range(1, 15)]

    run(work())


class ClockAhead(VirtualClock):
    """The clock of a process on another machine."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def now(self) -> float:
        return super().now() + self._seconds


@pytest.mark.parametrize("ahead", [LEASE, 2 * LEASE, 3600.0, -LEASE / 3])
def test_h17_a_turn_stays_its_owners_when_their_clock_differs(ahead: float) -> None:
    """H17: retries by another process cut the lease of a clock ahead. The owner renews it."""

    async def work() -> None:
        store, model = Store(), Model(30)
        owner = Process(store, model, ClockAhead(ahead))
        others = (later(at, partial(ask, process(store, model))) for at in (1, 8, 20, 30, 44))
        answer, *again = await asyncio.gather(ask(owner), *others)
        assert answer.complete
        assert [(other.status, other.code) for other in again] == [(409, "session_busy")] * 5
        assert model.asked == 1

    run(work())


def test_p17_a_short_answer_renews_nothing() -> None:
    """An answer within half a lease costs no extra write."""

    async def work() -> None:
        store = Store()
        assert (await ask(process(store, Model(2)))).status == 200
        assert 0 < CLOCK.monotonic() < RENEW_AFTER
        assert store.renewed == []

    run(work())


def test_p17_a_turn_that_lost_its_lease_ends_with_an_error() -> None:
    """The store did not answer for a whole lease, so another process began the turn again. P16:
    both calls are stored.
    """

    async def work() -> None:
        store, model = Store(), Model(50, 3)
        one, two = process(store, model), process(store, model)
        store.away = True
        lost = asyncio.create_task(ask(one))
        second = await later(LEASE + 1, partial(ask, two))
        assert (second.status, second.text) == (200, "1 2 3 ")
        assert not lost.done()
        store.away = False
        first = await lost
        assert (first.status, first.code) == (200, "session_busy")
        assert "[DONE]" not in first.body
        assert CLOCK.monotonic() < LEASE + 20
        messages, calls = await whole(store)
        assert messages == [("question", "ok"), ("1 2 3", "ok")]
        assert calls == [(1, False), (101, True)]

    run(work())


def test_p17_a_store_that_is_away_takes_no_turn_from_anybody() -> None:
    async def work() -> None:
        store = Store()
        store.away = True
        answer = await ask(process(store, Model(40)))
        assert answer.complete
        messages, _ = await whole(store)
        assert [status for _, status in messages] == ["ok", "ok"]
        tries = (RENEW_AFTER, RENEW_AFTER + RENEW_AGAIN, RENEW_AFTER + 2 * RENEW_AGAIN)
        assert tuple(store.renewed[:3]) == tries

    run(work())


def test_d8_a_store_that_takes_its_time_for_everything_is_waited_for_four_seconds() -> None:
    """The limit is the sum of all waits before the model is called. The message may be sent
    again.
    """

    async def work() -> None:
        store, model = Store(), Model(3, 3, 3)
        one = process(store, model)
        first = await one.ask("first")
        store.pause = 0.95
        began = CLOCK.monotonic()
        assert (await one.ask("second", first, client_message_id="two")).status == 200
        assert CLOCK.monotonic() < began + 3 + 4 * PACE + 2
        for store.pause in (1.4, 2.5, 5.0):
            began = CLOCK.monotonic()
            refused = await one.ask("third", first, client_message_id="three")
            assert (refused.status, refused.code) == (503, "upstream_service_unavailable")
            assert began + 4 <= CLOCK.monotonic() < began + 5.5
        assert model.asked == 2
        store.pause = 0.0
        assert (await one.ask("third", first, client_message_id="three")).complete

    run(work())


def test_p36_a_chat_deleted_in_another_process_is_answered_no_further() -> None:
    async def work() -> None:
        store, model = Store(), Model(50)
        answering = asyncio.create_task(ask(process(store, model), None))
        await asyncio.sleep(5)
        [row] = (await store.newest(SessionFilter(), None, 2, CLOCK.now())).rows
        await store.delete(row.session.id)
        answer = await answering
        assert "[DONE]" not in answer.body
        assert CLOCK.monotonic() < 40
        assert (await store.newest(SessionFilter(), None, 2, CLOCK.now())).rows == []

    run(work())
