"""After any sequence of operations, DynamoDB returns the same as SQLite."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kefu.sessions.store.model import LEASE, NewMessage, Retention, Session, SessionId, TurnOutcome
from kefu.sessions.store.overview import SessionFilter
from kefu.sessions.store.ports import Sessions
from kefu.tools.use import Use, stored
from tests.contract.chats import DAY, body, call, response
from tests.contract.engines import HandClock, SharedTable
from tests.fakes.chats_in_memory import ChatsInMemory
from tests.parts.plugin import slow

IDS = [SessionId(f"{number:032x}") for number in range(3)]
KEPT = Retention(session=3.137 * DAY, raw=1.037 * DAY)
PAUSES = [3.0, 3.0, 7.0, LEASE, 700.0, 0.4 * DAY, 0.9 * DAY, 3.5 * DAY]
WANTED = [
    SessionFilter(),
    SessionFilter(has_error=True),
    SessionFilter(status="pending"),
    SessionFilter(status="ok"),
    SessionFilter(tool="used"),
    SessionFilter(tool="failed"),
]
CALLS = stored([Use("a", "stock", "{}", state="done"), Use("b", "buy", "{}", state="unsure")])
ENDS = [
    TurnOutcome("ok", "the answer {}", 7, 3),
    TurnOutcome("ok", "no answer {}", 7, 3, unanswered=True),
    TurnOutcome("partial", "the ans {}", 5, 1),
    TurnOutcome("failed"),
    TurnOutcome("ok", "with tools {}", 7, 3, steps=CALLS),
    TurnOutcome("failed", steps=CALLS),
]
STEPS = (
    ["begin"] * 6
    + ["finish"] * 6
    + ["renew"] * 2
    + ["record"] * 2
    + ["look", "look", "rate", "list", "delete", "save_state"]
)


async def begin(store: Sessions, dice: random.Random, session_id: SessionId, now: float) -> object:
    client = dice.choice([None, "client 1", "client 2", "client 3"])
    created = now if dice.random() < 0.7 else 0.0
    again = client is not None and dice.random() < 0.3
    session = Session(session_id, "title", "default", created, now)
    try:
        return await store.begin(
            session, NewMessage(f"a question {dice.random()}", client, again), now
        )
    except KeyError:
        return "no such session"


async def finish(store: Sessions, dice: random.Random, session_id: SessionId, now: float) -> object:
    message_id, ended = 2 * dice.randrange(5) + 1, dice.choice(ENDS)
    ended = ended._replace(text=ended.text.format(dice.random()))
    return await store.finish(session_id, message_id, ended, now, dice.choice([0, 0, 0, 1, 2]))


async def renew(store: Sessions, dice: random.Random, session_id: SessionId, now: float) -> object:
    return await store.renew(session_id, 2 * dice.randrange(5) + 1, dice.choice([0, 0, 1]), now)


async def record(store: Sessions, dice: random.Random, session_id: SessionId, now: float) -> object:
    known = await store.messages(session_id, now=now)
    told = [{"role": one.role, "content": one.content} for one in known]
    made = call(2 * dice.randrange(5) + 1, now, request=body([*told]), answer=response("yes"))
    await store.record(made._replace(session_id=session_id))
    return [await store.calls(one) for one in IDS]


async def look(store: Sessions, dice: random.Random, session_id: SessionId, now: float) -> object:
    before, limit = dice.choice([None, None, 3, 4, 5]), dice.randrange(1, 9)
    kept = await store.messages(session_id, before=before, limit=limit, now=now)
    return kept, await store.session(session_id)


async def rate(store: Sessions, dice: random.Random, session_id: SessionId, now: float) -> object:
    rating: Any = dice.choice(["up", "down", None])
    comment = dice.choice(["", f"comment {dice.random()}"]) if rating == "down" else ""
    return await store.rate(session_id, dice.choice(["client 1", "client 2", "x"]), rating, comment)


async def listed(store: Sessions, dice: random.Random, session_id: SessionId, now: float) -> object:
    page = await store.newest(dice.choice(WANTED), None, 10, now)
    asked = await store.questions(0, now + 1, 10, now, gaps=dice.random() < 0.5)
    period = "2096-01-01", "2099-01-01"
    return page.rows, asked.read, await store.days(*period), await store.tool_days(*period)


async def delete(store: Sessions, dice: random.Random, session_id: SessionId, now: float) -> object:
    await store.delete(session_id)
    return await store.session(session_id)


async def save_state(
    store: Sessions, dice: random.Random, session_id: SessionId, now: float
) -> object:
    await store.save_trim_state(session_id, f"state {dice.random()}")
    return await store.session(session_id)


DOING = {
    "begin": begin,
    "finish": finish,
    "renew": renew,
    "record": record,
    "look": look,
    "rate": rate,
    "list": listed,
    "delete": delete,
    "save_state": save_state,
}


async def tell_the_same(store: Sessions, clock: HandClock, seed: int, steps: int) -> None:
    memory = ChatsInMemory(clock, KEPT)
    dice = random.Random(seed)
    done = []
    for _ in range(steps):
        clock.now += dice.choice(PAUSES[: 5 if dice.random() < 0.8 else 8])
        name, session_id, luck = dice.choice(STEPS), dice.choice(IDS), dice.random()
        told = [
            await DOING[name](one, random.Random(luck), session_id, clock.now)
            for one in (memory, store)
        ]
        done.append((clock.now, name, session_id[-1], luck))
        assert told[1] == told[0], done[-12:]
    for session_id in IDS:
        await store.delete(session_id)


@pytest.fixture
async def table(
    request: pytest.FixtureRequest,
    dynamodb_local: str,
    clock: HandClock,
    aws_environment: dict[str, str],
    shared_tables: dict[str, SharedTable],
) -> AsyncIterator[Sessions]:
    async with shared_tables["dynamodb_local"].lent(dynamodb_local, clock) as table:
        yield table.sessions(KEPT)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100, 101, slow(102)])
async def test_dynamodb_returns_the_same_as_sqlite(
    seed: int, clock: HandClock, table: Sessions
) -> None:
    await tell_the_same(table, clock, seed, 100)
