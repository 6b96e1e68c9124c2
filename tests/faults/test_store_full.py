"""Many messages fill the store to its limit; chats that are not stored still work (T1, D11)."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from kefu.sessions.store.model import SessionId
from tests.fakes.asking import Answer, get
from tests.fakes.chatting import FILE, STORE, Visitor, store_of
from tests.fakes.fixtures import Staged
from tests.fakes.stage import Stage
from tests.faults.test_stores import eventually

TOKEN = "operator-token-5f3c9a7e1b-6d20c81f"
LIMIT = 16_000_000
MARGIN = 2_000_000
"""Bytes that visitors may write before the service reads the size of its store again. It reads
every quarter of a second, and on a busy machine up to four times later."""
HAN = [chr(number) for number in range(0x4E00, 0x9FA0)]
VISITORS, PAUSE = 4, 0.1
"""Together the visitors send at most 40 messages a second, of 48 KB each."""


def long_text() -> str:
    """16,000 characters in 48,000 bytes that cannot be compressed much."""
    return "".join(random.choices(HAN, k=15_990))


class Flood:
    def __init__(self, running: Stage) -> None:
        self.running = running
        self.visitors: list[Visitor] = []
        self.largest = 0

    @property
    def folder(self) -> Path:
        return self.running.service.folder

    def size(self) -> int:
        """The size of the file and its log."""
        names = (FILE, f"{FILE}-wal")
        return sum((self.folder / name).stat().st_size for name in names)

    async def until_refused(self, say: Callable[[], Awaitable[Answer]]) -> Answer:
        """Send messages of several clients until one is refused for lack of space."""
        refused: list[Answer] = []

        async def one() -> None:
            while not refused:
                answer = await say()
                self.largest = max(self.largest, self.size())
                if not answer.complete:
                    refused.append(answer)
                await asyncio.sleep(PAUSE)

        async with asyncio.timeout(120):
            await asyncio.gather(*(one() for _ in range(VISITORS)))
        return refused[0]

    async def begin(self) -> Answer:
        """Begin another chat."""
        visitor = Visitor(self.running)
        answer = await visitor.say(long_text())
        if answer.complete:
            self.visitors.append(visitor)
        return answer

    async def go_on(self) -> Answer:
        return await random.choice(self.visitors).say(long_text())


def levels(running: Stage) -> list[str]:
    return [line["store_level"] for line in running.service.logs() if "store_level" in line]


async def about(running: Stage) -> dict[str, Any]:
    answer = await get(running.url, "/admin/api/about", Authorization=f"Bearer {TOKEN}")
    shown: dict[str, Any] = answer.json()["store"]
    return shown


async def health(running: Stage) -> tuple[object, ...]:
    said = (await get(running.url, "/health")).json()
    assert not {"used", "limit"} & set(said)
    return said["status"], said["reason"], said["sessions"]


@pytest.mark.slow
async def test_a_flood_stops_bodies_then_new_chats_then_all_and_deleting_brings_them_back(
    staged: Staged,
) -> None:
    running = staged(
        2,
        store=STORE,
        store_max_mb=LIMIT // 1_000_000,
        capture="all",
        max_body_bytes=200_000,  # a character takes six bytes as a JSON escape
        environment={"ADMIN_TOKEN": TOKEN},
    )
    flood = Flood(running)
    assert (await flood.begin()).complete
    assert await health(running) == ("ok", "", True)
    assert (await about(running))["level"] == "ok"

    refused = await flood.until_refused(flood.begin)
    assert (refused.status, refused.error["code"]) == (503, "store_full")
    assert int(refused.headers["Retry-After"]) > 0
    assert levels(running) == ["no_bodies", "no_new_chats"]
    assert await health(running) == ("degraded", "store_full", False)
    shown = await about(running)
    assert (shown["level"], shown["limit"]) == ("no_new_chats", LIMIT)
    assert 0.85 * LIMIT < shown["used"] < LIMIT + MARGIN
    assert (await running.ask("not kept")).complete

    refused = await flood.until_refused(flood.go_on)
    assert (refused.status, refused.error["code"]) == (503, "store_full")
    assert levels(running)[2:] == ["full"]
    assert flood.largest < LIMIT + MARGIN
    assert (await running.ask("not kept")).complete
    asked = len(running.upstream.journal)
    for _ in range(20):
        assert (await flood.go_on()).status == 503
    assert len(running.upstream.journal) == asked
    assert flood.size() < LIMIT + MARGIN

    async with store_of(running, time.time) as store:
        first, *_, last = flood.visitors
        bodies = [
            [call.request is not None for call in await store.calls(SessionId(str(one.session_id)))]
            for one in (first, last)
        ]
    assert bodies[0][0]
    assert not bodies[1][0]

    flood.visitors, deleted = flood.visitors[1::2], flood.visitors[::2]
    for visitor in deleted:
        assert (await visitor.look("", "DELETE")).status_code == 204

    async def healthy() -> bool:
        return (await health(running))[0] == "ok"

    await eventually(healthy)
    assert (await flood.begin()).complete
    assert (await flood.go_on()).complete
    assert levels(running)[-1] == "ok"
    assert len(levels(running)) <= 6, "once a change"
    assert flood.size() < LIMIT + MARGIN
    print(f"at most {flood.largest / LIMIT:.0%} of the limit, the log among it")
