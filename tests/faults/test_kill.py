"""D10, L2: requests whose process is killed at a random moment of a turn."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sqlite3
import time
from typing import Any

import httpx
import pytest

from kefu.sessions.store.model import LEASE, SessionId
from tests.contract.engines import new_table
from tests.fakes import behaviours as b
from tests.fakes.chatting import FILE, STORE, Visitor, new_id, store_of
from tests.fakes.fixtures import Staged
from tests.fakes.leaks import leaked
from tests.fakes.pictures import jpeg, url
from tests.fakes.stage import UNHURRIED
from tests.parts.plugin import CREDENTIALS, slow

AT_ONCE = 25
LEAVING_AT_ONCE = 5
LEAVING = "Goodbye"
PHOTO = url(jpeg())
KEPT: dict[str, Any] = {"capture": "all", "images": True}
"""Settings with which a chat has rows in each table."""


class Chatty(Visitor):
    """A client that sends one message after the other, and records the complete answers."""

    def __init__(self, *given: Any, number: int) -> None:
        super().__init__(*given)
        self.number = number
        self.asked = 0
        self.answered: list[tuple[str, str]] = []

    async def chat(self, killed: asyncio.Event) -> None:
        while not killed.is_set():
            self.asked += 1
            question = f"<{self.number}.{self.asked}>"
            answer = await self.say(question, client_message_id=new_id())
            if answer.complete:
                self.answered.append((question, answer.text))


class Leaving(Visitor):
    """A client that asks with an image and deletes its chat, again and again."""

    async def chat(self, killed: asyncio.Event) -> None:
        while not killed.is_set():
            await self.say(LEAVING, new=True, images=[PHOTO], client_message_id=new_id())
            await self.look("", "DELETE")


async def echo(exchange: b.Exchange) -> None:
    """An answer in two pieces, with random pauses. Its text contains the question."""
    question = exchange.body["messages"][-1]["content"]
    pace = random.random() * 0.08
    await b.answer("re ", question, delay=pace, before=pace)(exchange)


def check_told(messages: list[dict[str, str]]) -> None:
    """Check a prompt: complete turns in order, each with its own answer, and then the question."""
    assert [m["role"] for m in messages] == roles(len(messages))
    told = messages[:-1]
    for question, answer in zip(told[::2], told[1::2], strict=True):
        assert answer["content"] == f"re {question['content']}"
    numbers = [float(m["content"].strip("<>").rpartition(".")[2]) for m in messages[::2]]
    assert numbers == sorted(numbers)


def roles(count: int) -> list[str]:
    return [("user", "assistant")[n % 2] for n in range(count)]


async def settings_of(engine: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """The settings for an empty store of this engine."""
    if engine == "sqlite":
        return {"store": STORE}
    if engine == "postgresql":
        return {"store": request.getfixturevalue(engine).new_schema()}
    endpoint: str = request.getfixturevalue(engine)
    table = await new_table(endpoint, time.time, with_ttl=True)
    await table.aclose()
    environment = {**CREDENTIALS, "AWS_ENDPOINT_URL_DYNAMODB": endpoint}
    return {"store": f"dynamodb://{table.table}", "environment": environment}


@pytest.mark.slow
@pytest.mark.usefixtures("aws_environment")
@pytest.mark.parametrize("engine", ["sqlite", slow("postgresql"), slow("dynamodb_local")])
@pytest.mark.parametrize("kills", [2, slow(8)])
async def test_d10_a_killed_process_loses_doubles_and_leaks_nothing(
    staged: Staged, kills: int, engine: str, request: pytest.FixtureRequest
) -> None:
    """Every chat can continue. The unfinished message is not part of later prompts."""
    running = staged(4, **await settings_of(engine, request), **KEPT, **UNHURRIED)
    running.script(echo)
    running.script(b.answer("Goodbye"), asking=LEAVING)
    visitors = [Chatty(running, number=number) for number in range(AT_ONCE)]
    everybody: list[Chatty | Leaving] = [*visitors]
    everybody += [Leaving(running) for _ in range(LEAVING_AT_ONCE)]
    killed_at = 0.0
    for _ in range(kills):
        killed = asyncio.Event()
        chats = [asyncio.create_task(one.chat(killed)) for one in everybody]
        busy = len(running.upstream.calls("<")) + 2 * AT_ONCE
        assert await running.upstream.until(lambda: len(running.upstream.calls("<")) >= busy, 30)  # noqa: B023
        await asyncio.sleep(random.random() * 0.1)
        assert [repr(chat.exception()) for chat in chats if chat.done()] == []
        killed.set()  # no client begins a turn between this line and the kill
        killed_at = time.time()
        running.service.restart(kill=True)
        for ended in await asyncio.gather(*chats, return_exceptions=True):
            assert ended is None or isinstance(ended, httpx.TransportError), ended
    for call in running.upstream.calls("<"):
        check_told(call.body["messages"])
    for visitor in visitors:
        assert (await visitor.say(f"<{visitor.number}.9999>")).complete
    interrupted = sum([await check_stored(visitor) for visitor in visitors])
    # The other requests had not arrived yet. A turn takes DynamoDB longer: fewer are under way.
    share = 1 if engine == "dynamodb_local" else AT_ONCE / 5
    assert interrupted > kills * share, interrupted
    answered = sum(len(visitor.answered) for visitor in visitors)
    assert answered > kills * AT_ONCE / 4
    running.service.stop()
    assert await leaked(running, killed_at) == {}
    if engine == "sqlite":
        with contextlib.closing(sqlite3.connect(running.service.folder / FILE)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def check_stored(visitor: Chatty) -> int:
    """Check the stored messages of a client. Returns the number of its interrupted turns."""
    async with store_of(visitor.stage, lambda: time.time() + LEASE) as store:
        kept = await store.messages(
            SessionId(visitor.session_id or ""), limit=2000, now=time.time() + LEASE
        )
    assert [m.id for m in kept] == sorted({m.id for m in kept})
    # A message is `failed` if a busy machine could not save it in time.
    assert {m.status for m in kept} <= {"ok", "interrupted", "failed"}
    refused = {m.content for m in kept if m.status == "failed"}
    assert refused.isdisjoint(question for question, _ in visitor.answered)
    by_id = {m.id: m for m in kept}
    pairs = [(by_id[m.reply_to or 0], m) for m in kept if m.role == "assistant"]
    stored = {asked.content: answer.content for asked, answer in pairs}
    first = kept[0].content
    for question, text in visitor.answered:
        if number_of(question) >= number_of(first):
            assert stored.get(question) == text
    for asked, answer in pairs:
        assert (asked.status, answer.status) == ("ok", "ok")
        assert answer.content == f"re {asked.content}"
    assert sum(m.status == "ok" for m in kept) == 2 * len(pairs)
    return sum(m.status == "interrupted" for m in kept)


def number_of(question: str) -> float:
    return float(question.strip("<>").rpartition(".")[2])
