"""The cost of storing chats: DynamoDB units, time with SQLite, and reading the end of a long chat.

DynamoDB Local counts the units. A question has 40 Chinese characters, an answer 400 (about 300
tokens), and a request repeats 20 messages. Bodies are captured of failed calls, as by default.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import boto3

from benchmarks.kept import request_lines
from kefu.sessions.people.visitor_mails import AT_ONCE
from kefu.sessions.store.attendance import Attendance
from kefu.sessions.store.model import (
    LEASE,
    NewMessage,
    Retention,
    Session,
    SessionId,
    TurnOutcome,
)
from kefu.sessions.store.overview import SessionFilter
from kefu.sessions.store.ports import Sessions
from kefu.stores.dynamodb.store import DynamoStore
from kefu.stores.sqlite.store import SqliteStore
from tests.contract.chats import ONE, body, call, response
from tests.contract.engines import HandClock, new_table
from tests.fakes.metering_front import Bill, MeteringFront
from tests.parts.fetch import folder_of
from tests.parts.plugin import CREDENTIALS, started_dynamodb_local

SHORT, LONG = 100, 10_000
"""Messages."""

SYSTEM = {"role": "system", "content": "你是一家网店的客服，态度友好，回答简短。" * 6}


def words(number: int, length: int) -> str:
    """Chinese characters that differ for each `number`."""
    return "".join(chr(0x4E00 + (n * n * 7919 + n * number) % 20000) for n in range(length))


@dataclass
class Chat:
    """A visitor's chat: calls the store in the same order as the service."""

    store: Sessions
    clock: HandClock
    turns: int = 0

    def session(self) -> Session:
        return Session(ONE, words(0, 40), "default", self.clock.now, self.clock.now)

    async def begin(self) -> None:
        self.turns += 1
        asked = NewMessage(words(self.turns, 40), f"6f1b2c1e-0000-4000-8000-{self.turns:012}")
        session = await self.store.session(ONE) if self.turns > 1 else self.session()
        assert session
        self.message = (await self.store.begin(session, asked, self.clock.now)).message
        self.known = await self.store.messages(ONE, limit=21, now=self.clock.now)

    async def renew(self) -> None:
        self.clock.now += LEASE / 2
        assert await self.store.renew(ONE, self.message.id, 0, self.clock.now)

    async def finish(self) -> None:
        ended = TurnOutcome("ok", words(self.turns, 400), 900, 300)
        answer = await self.store.finish(ONE, self.message.id, ended, self.clock.now)
        assert answer
        self.answer = answer

    async def record(self) -> None:
        await self.store.record(call(self.message.id, self.clock.now, request=None))

    async def record_whole(self) -> None:
        """With its bodies."""
        said = [{"role": one.role, "content": one.content} for one in self.known]
        whole = body([SYSTEM, *said], temperature=0.7)
        now = self.clock.now
        made = call(self.message.id, now, request=whole, answer=response(self.answer.content))
        await self.store.record(made)

    async def turn(self) -> None:
        for step in (self.begin, self.finish, self.record):
            await step()

    async def again(self) -> None:
        """Send the last message again after its answer."""
        asked = NewMessage(self.message.content, self.message.client_message_id)
        assert (await self.store.begin(self.session(), asked, self.clock.now)).answer

    async def read(self) -> None:
        assert len(await self.store.messages(ONE, now=self.clock.now)) == 20

    async def page(self) -> None:
        assert (await self.store.newest(SessionFilter(), None, 20, self.clock.now)).rows


async def turn_units(endpoint: str) -> dict[str, Bill]:
    """The billed units of each step of a chat."""
    clock, bills = HandClock(), dict[str, Bill]()
    table = await new_table(endpoint, clock, with_ttl=True)
    with MeteringFront(endpoint) as front:
        store = DynamoStore(table.table, clock, endpoint=front.url)
        chat = Chat(store.sessions(Retention()), clock)

        async def count(name: str, *steps: Callable[[], Awaitable[None]]) -> None:
            for step in steps:
                await step()
            bills[name] = front.settle()

        await count("a chat's first turn", chat.turn)
        for _ in range(11):
            await chat.turn()
        front.settle()
        await count("a turn: its beginning, and the history", chat.begin)
        await count("half a lease more of a turn", chat.renew)
        await count("a turn: its end", chat.finish)
        await count("a turn: the call", chat.record)
        await count("a call with its bodies", chat.record_whole)
        clock.now += 1200
        await count("a turn after ten quiet minutes, all of it", chat.turn)
        await count("a message sent again", chat.again)
        await count("the newest 20 messages", chat.read)
        await count("a page of the sessions, for one", chat.page)
        await store.aclose()
    await table.aclose()
    return bills


async def panel_units(endpoint: str) -> dict[str, Bill]:
    """The billed units of what an open panel asks for, of twenty chats of which two wait."""
    clock, bills = HandClock(), dict[str, Bill]()
    table = await new_table(endpoint, clock, with_ttl=True)
    with MeteringFront(endpoint) as front:
        store = DynamoStore(table.table, clock, endpoint=front.url)
        sessions = store.sessions(Retention())
        for number in range(20):
            clock.now += 1
            name = SessionId(f"{number:032x}")
            chat = Session(name, words(number, 40), "default", clock.now, clock.now)
            begun = await sessions.begin(chat, NewMessage(words(number, 40)), clock.now)
            ended = TurnOutcome("ok", words(number, 400), 900, 300)
            await sessions.finish(name, begun.message.id, ended, clock.now)
            if number < 2:
                await sessions.set_attendance(name, Attendance("waiting", "", clock.now))
        states = [SessionFilter(state="waiting"), SessionFilter(state="person")]
        for _ in range(2):  # the first look of a process also reads which rows are new
            front.settle()
            for wanted in states:
                await sessions.newest(wanted, None, 50, clock.now)
        bills["the panel: who waits, of two chats"] = front.settle()
        await sessions.newest(SessionFilter(), None, 50, clock.now)
        bills["the panel: the newest 20 chats"] = front.settle()
        await sessions.claim_contact(clock.now, clock.now)
        await sessions.mails_due(clock.now, AT_ONCE)
        bills["the schedule: nothing is due"] = front.settle()
        await store.aclose()
    await table.aclose()
    return bills


async def fill(store: Sessions, clock: HandClock, messages: int) -> Chat:
    chat = Chat(store, clock)
    for _ in range(messages // 2):
        chat.turns += 1
        asked = NewMessage(words(chat.turns, 40), str(chat.turns))
        begun = await store.begin(chat.session(), asked, clock.now)
        await store.finish(
            ONE, begun.message.id, TurnOutcome("ok", words(chat.turns, 400)), clock.now
        )
    return chat


async def fill_table(table: DynamoStore, clock: HandClock, endpoint: str, messages: int) -> Chat:
    """Like `fill`, but copies one turn, because storing each turn through the store takes
    minutes.
    """
    chat = await fill(table.sessions(Retention()), clock, 2)
    client = boto3.resource("dynamodb", endpoint_url=endpoint).Table(table.table)
    key = {"pk": f"session#{ONE}", "sk": "turn#0000000001"}
    turn: Any = client.get_item(Key=key)["Item"]
    with client.batch_writer() as batch:
        for number in range(3, messages, 2):
            batch.put_item(Item={**turn, "sk": f"turn#{number:010}"})
    client.meta.client.close()
    return chat


async def milliseconds(step: Callable[[], Awaitable[None]], times: int) -> float:
    spent = []
    for _ in range(times):
        started = time.perf_counter()
        await step()
        spent.append(time.perf_counter() - started)
    return median(spent) * 1000


async def local_times(folder: Path, rounds: int) -> dict[str, float]:
    """Milliseconds for each operation with SQLite."""
    rows: dict[str, float] = {}
    clock = HandClock()
    for messages in (SHORT, LONG):
        store = SqliteStore(folder / f"{messages}.sqlite3", clock)
        chat = await fill(store.sessions(Retention()), clock, messages)
        rows[f"the newest 20 messages of {messages:,}"] = await milliseconds(chat.read, rounds)
        name = f"a turn after {messages:,} messages, with its call"
        rows[name] = await milliseconds(chat.turn, rounds)
        await store.aclose()
    return rows


async def table_times(endpoint: str, rounds: int) -> dict[str, tuple[float, float]]:
    """Milliseconds and read units to read the newest 20 messages from DynamoDB Local."""
    rows = {}
    clock = HandClock()
    with MeteringFront(endpoint) as front:
        for messages in (SHORT, LONG):
            table = await new_table(endpoint, clock, with_ttl=True)
            chat = await fill_table(table, clock, endpoint, messages)
            spent = await milliseconds(chat.read, rounds)
            metered = DynamoStore(table.table, clock, endpoint=front.url)
            chat.store = metered.sessions(Retention())
            await chat.read()
            rows[f"the newest 20 messages of {messages:,}"] = (spent, front.settle().reads)
            await metered.aclose()
            await table.aclose()
    return rows


def chats(rounds: int) -> str:
    """The tables as text; those of DynamoDB only if DynamoDB Local is installed."""
    with tempfile.TemporaryDirectory(prefix="kefu-bench-") as folder:
        local = asyncio.run(local_times(Path(folder), rounds))
        lines = [f"{'keeping a chat, milliseconds':50}{'SQLite':>10}"]
        lines += [f"{name:50}{spent:10.3f}" for name, spent in local.items()]
        lines += ["", *request_lines(2 * rounds)]
        part = folder_of("dynamodb-local")
        if part is None:
            return "\n".join([*lines, "DynamoDB Local is not in .parts/. Try: make parts"])
        with started_dynamodb_local(part / "lib", Path(folder)) as endpoint:
            os.environ.update(CREDENTIALS)
            bills = asyncio.run(turn_units(endpoint)) | asyncio.run(panel_units(endpoint))
            remote = asyncio.run(table_times(endpoint, rounds))
    lines += ["", f"{'keeping a chat, in DynamoDB units':50}{'calls':>7}{'reads':>7}{'writes':>8}"]
    lines += [
        f"{name:50}{bill.calls.total():7}{bill.reads:7.1f}{bill.writes:8.1f}"
        for name, bill in bills.items()
    ]
    lines += ["", f"{'DynamoDB Local':50}{'ms':>7}{'reads':>7}"]
    lines += [f"{name:50}{spent:7.1f}{reads:7.1f}" for name, (spent, reads) in remote.items()]
    return "\n".join(lines)
