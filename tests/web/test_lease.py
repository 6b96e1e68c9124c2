"""P17: a turn is its request's own while that answers it. Two minutes take no time here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

from benchmarks.virtual_time import VirtualClock, run
from kefu.admission import Admission, Allowance
from kefu.chat import Chat
from kefu.configs import Config, Configs
from kefu.errors import StoreUnavailable
from kefu.keeping import Keeper
from kefu.keypool import KeyPool
from kefu.message_processor import MessageProcessor
from kefu.outcome import Writing
from kefu.prompt import PromptPolicy
from kefu.recording import Recording
from kefu.relay import Relay
from kefu.sessions import LEASE, Retention, Wanted
from kefu.stores.memory import MemoryStore
from kefu.stores.memory_sessions import MemorySessions
from kefu.turn import Asking, Ways
from kefu.turns import Signer, Turns
from kefu.verification import Proof
from kefu.web.desk import Desk
from kefu.web.kept import Kept
from kefu.web.log import RequestLog
from kefu.web.record import Record

CLOCK = VirtualClock()
PACE = 2.0
"""Seconds from one word of the model to the next."""

HEAD = '{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,'


@dataclass
class Words:
    """A model's answer, a word every two seconds."""

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

    def close(self) -> None:
        """Nothing is open."""

    def finish(self) -> None:
        """Nothing is open."""


class Model:
    def __init__(self, *words: int) -> None:
        self.asked = 0
        self._words = words

    async def send(self, body: bytes, secret: str) -> Words:
        self.asked += 1
        return Words(self._words[self.asked - 1])


class Store(MemorySessions):
    def __init__(self) -> None:
        super().__init__(CLOCK.now, Retention())
        self.renewed: list[float] = []
        self.away = False

    async def renew(self, *given: Any) -> bool:
        self.renewed.append(CLOCK.monotonic())
        if self.away:
            raise StoreUnavailable("away")
        return await super().renew(*given)


@dataclass
class Answer:
    status: int
    body: str

    @property
    def words(self) -> str:
        events = [
            json.loads(line[6:]) for line in self.body.split("\n") if line.startswith("data: {")
        ]
        return "".join(
            e["choices"][0]["delta"].get("content", "") for e in events if "choices" in e
        )

    @property
    def code(self) -> str:
        """Of an error, as status or as an event."""
        line = next(line for line in self.body.split("\n") if '"error"' in line)
        return str(json.loads(line.removeprefix("data: "))["error"]["code"])


class Process:
    """One of several that share a store and ask one model."""

    def __init__(self, store: Store, model: Model) -> None:
        admission = Admission(MemoryStore(CLOCK.now), CLOCK, Allowance())
        relay = Relay(model, KeyPool(["one key"]), MemoryStore(CLOCK.now), CLOCK)
        policy = PromptPolicy()
        self.keeper = Keeper(pytest.fail)
        self.desk = Desk(
            Chat(relay, policy, "m", CLOCK), admission, RequestLog(CLOCK), prefetch=lambda: None
        )
        writing = Writing(store, self.keeper, CLOCK, Recording("all", str, "h"), MessageProcessor())
        configs = Configs({"default": Config("default", "m", 0.5, 500, policy)})
        entropy = count(1)
        self.turns = Turns(
            Ways(writing, configs, [], pytest.fail),
            Signer(store, ["secret"], "", 86400),
            lambda size: next(entropy).to_bytes(size),
        )

    async def ask(self, client_message_id: str | None = "one id") -> Answer:
        asking = Asking("question", "1.2.3.4", "request", client_message_id=client_message_id)
        kept = Kept(self.desk, self.turns, asking, proof=Proof(), seconds=None, wants_usage=False)
        record = Record("request", "POST", "/api/chat", CLOCK.monotonic())
        scope = {"type": "http", "method": "POST", "state": {"record": record}}
        sent: list[dict[str, Any]] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> dict[str, Any]:
            await asyncio.Event().wait()
            return {}

        await kept(scope, receive, send)
        body = b"".join(message.get("body", b"") for message in sent)
        return Answer(sent[0]["status"], body.decode())


async def later(seconds: float, work: Any) -> Any:
    await asyncio.sleep(seconds)
    return await work()


async def whole(store: Store) -> tuple[Sequence[tuple[str, str]], list[tuple[int, bool]]]:
    """`(content, status)` of each message, and `(number, stream_complete)` of each call."""
    [row] = (await store.newest(Wanted(), None, 2, CLOCK.now())).rows
    messages = await store.messages(row.session.id, now=CLOCK.now())
    calls = await store.calls(row.session.id)
    return [(m.content, m.status) for m in messages], [(c.number, c.stream_complete) for c in calls]


def test_p17_an_answer_of_two_minutes_stays_its_requests_own() -> None:
    """Another process that is sent the same meanwhile asks no model, at whatever moment."""

    async def work() -> None:
        store, model = Store(), Model(55)
        one, two = Process(store, model), Process(store, model)
        others = (later(at, two.ask) for at in (LEASE - 1, LEASE + 1, 95, 111))
        answer, *again = await asyncio.gather(one.ask(), *others)
        assert answer.status == 200
        assert answer.body.endswith("data: [DONE]\n\n")
        assert [(other.status, other.code) for other in again] == [(409, "session_busy")] * 4
        assert model.asked == 1
        assert (await two.ask()).words == answer.words.strip()
        messages, calls = await whole(store)
        assert messages == [("question", "ok"), (answer.words.strip(), "ok")]
        assert calls == [(1, True)]
        assert store.renewed == [30, 60, 90]

    run(work())


def test_p17_an_answer_of_usual_length_renews_nothing() -> None:
    """So its cost is what it was."""

    async def work() -> None:
        store = Store()
        assert (await Process(store, Model(12)).ask()).status == 200
        assert CLOCK.monotonic() > 24
        assert store.renewed == []

    run(work())


def test_p17_a_turn_that_was_lost_ends_with_an_error_and_disturbs_nobody() -> None:
    """While the store was away for a whole lease another process began it anew. P16: both calls
    are there to be looked at.
    """

    async def work() -> None:
        store, model = Store(), Model(50, 3)
        one, two = Process(store, model), Process(store, model)
        store.away = True
        lost = asyncio.create_task(one.ask())
        second = await later(LEASE + 1, two.ask)
        assert (second.status, second.words) == (200, "1 2 3 ")
        assert not lost.done()
        store.away = False
        first = await lost
        assert (first.status, first.code) == (200, "session_busy")
        assert "[DONE]" not in first.body
        assert CLOCK.monotonic() < LEASE + 20
        messages, calls = await whole(store)
        assert messages == [("question", "ok"), ("1 2 3", "ok")]
        assert calls == [(1, False), (11, True)]

    run(work())


def test_p17_a_store_that_is_away_takes_no_turn_from_anybody() -> None:
    async def work() -> None:
        store = Store()
        store.away = True
        answer = await Process(store, Model(40)).ask()
        assert answer.body.endswith("data: [DONE]\n\n")
        messages, _ = await whole(store)
        assert [status for _, status in messages] == ["ok", "ok"]
        assert store.renewed[:3] == [30, 35, 40]

    run(work())


def test_p36_a_chat_deleted_in_another_process_is_answered_no_further() -> None:
    async def work() -> None:
        store, model = Store(), Model(50)
        answering = asyncio.create_task(Process(store, model).ask(None))
        await asyncio.sleep(5)
        [row] = (await store.newest(Wanted(), None, 2, CLOCK.now())).rows
        await store.delete(row.session.id)
        answer = await answering
        assert "[DONE]" not in answer.body
        assert CLOCK.monotonic() < 40
        assert (await store.newest(Wanted(), None, 2, CLOCK.now())).rows == []

    run(work())
