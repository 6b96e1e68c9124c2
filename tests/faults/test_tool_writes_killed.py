"""A10: kill -9 at each point of a write that a visitor has approved, by real means.

The points are those of a click: A, it is saved; B, `sending` is saved; C, the shop has done it; D,
`done` is saved; E, the model has answered. Then the service starts again, the visitor writes
something else, and the click is sent again.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from kefu.sessions.store.model import Retention, SessionId
from kefu.sessions.store.ports import Sessions
from kefu.stores.postgresql.store import PostgresStore
from kefu.tools.use import stored_uses
from tests.contract.engines import new_table
from tests.fakes import behaviours as b
from tests.fakes.asking import Answer
from tests.fakes.chatting import FILE, STORE, store_of
from tests.fakes.fault_proxy import FaultProxy
from tests.fakes.shopping import CHOOSING, Shopper, orders, outcome, settings_file
from tests.fakes.stage import UNHURRIED, Stage, stage
from tests.fakes.tool_shop import ToolShop
from tests.fakes.upstream import ScriptedUpstream
from tests.parts.plugin import CREDENTIALS, slow

HOLDING = """
import asyncio
from pathlib import Path

async def context(question, visit):
    while Path("hold").exists():
        Path("holding").touch()
        await asyncio.sleep(0.02)
    return ""
"""
"""A hook of the site that makes the answers wait before their calls, for up to two seconds."""
DONE = '"state":"cancelled"'
NOT_KNOWN = "It is not known whether this was carried out."


class Point(NamedTuple):
    """Where the process is killed, and what must follow."""

    number: str
    """Of the order."""
    reach: Callable[[Killed], Awaitable[None]]
    """Returns when the click has come to the point."""
    outcome: str
    """Of the click that is sent again."""
    cancelled: int
    told: str
    """A pattern of what the model is told when the visitor writes something else before; "": the
    visitor does not. In SQLite's file the service finds at its start which turns were lost.
    """
    idempotent: bool = False


class Killed:
    """One service with a chat, whose visitor has a card."""

    def __init__(
        self, point: Point, running: Stage, upstream: ScriptedUpstream, shop: ToolShop
    ) -> None:
        self.point = point
        self.running = running
        self.upstream = upstream
        self.shop = shop
        self.visitor = Shopper(running)
        self.to_shop: FaultProxy
        self.to_store: FaultProxy | None = None
        self.kept: Sessions
        """The store, opened by the test as well."""
        self.model_may_end = threading.Event()
        self.clicked: asyncio.Task[Answer]

    @property
    def click_text(self) -> str:
        return f"✓ Cancel order \u2068{self.point.number}\u2069"

    def file(self, name: str) -> Path:
        return self.running.service.folder / name

    async def state(self) -> str:
        """The stored state of the approved call; "" as long as nothing is stored."""
        session = SessionId(self.visitor.session_id or "")
        kept = await self.kept.messages(session, now=time.time())
        asked = [one for one in kept if one.client_message_id == self.visitor.card["id"]]
        uses = [use for one in asked for use in stored_uses(one.steps)]
        return uses[0].state if uses else ""

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        end = time.monotonic() + 60
        while not await holds():
            assert time.monotonic() < end, f"{self.point.number} was not reached"
            await asyncio.sleep(0.02)

    def click(self) -> None:
        self.clicked = asyncio.create_task(self.visitor.click())

    async def told(self, text: str) -> str:
        """What the model is told of the chat, when the visitor says something else."""
        answer = await self.visitor.say(text)
        assert answer.complete, answer.raw
        [call] = self.upstream.calls(text)
        said = [one["content"] or "" for one in call.body["messages"] if one["role"] != "system"]
        assert self.click_text in "".join(said)
        assert "did not approve" not in "".join(said)
        return "\n".join(said)


async def saved_only(it: Killed) -> None:
    """A: a hook of the site holds the answer before its calls."""
    it.file("hold").touch()
    it.click()
    assert await it.upstream.until(it.file("holding").exists)
    assert await it.state() == ""


async def not_sent(it: Killed) -> None:
    """B: the network takes the request, and it never arrives."""
    it.to_shop.set(black_hole=True)
    it.click()

    async def saved() -> bool:
        return await it.state() == "sending"

    await it.until(saved)


async def done_by_shop(it: Killed) -> None:
    """C: the shop does it, and sends nothing."""
    it.shop.fail("silent", path=f"/orders/{it.point.number}/cancel")
    it.click()
    assert await it.upstream.until(lambda: it.shop.cancelled[it.point.number] == 1)
    assert await it.state() == "sending"


async def outcome_saved(it: Killed) -> None:
    """D: the model does not answer."""
    it.upstream.script("*", b.silent, asking=it.click_text)
    it.click()
    await it.upstream.asked(it.click_text)
    assert await it.state() == "done"


async def answered(it: Killed) -> None:
    """E: the store does not take the end of the turn."""

    async def last_words(exchange: b.Exchange) -> None:
        while not it.model_may_end.is_set():  # noqa: ASYNC110 - another thread sets it
            await asyncio.sleep(0.01)
        await b.answer("It is cancelled.")(exchange)

    it.upstream.script("*", last_words, asking=it.click_text)
    it.click()
    await it.upstream.asked(it.click_text)
    if it.to_store:
        it.to_store.set(black_hole=True)
        it.model_may_end.set()
        answer = await it.clicked
    else:
        lock = sqlite3.connect(it.file(FILE), isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        it.model_may_end.set()
        answer = await it.clicked
        it.running.service.kill()
        lock.close()
    assert answer.text == "It is cancelled."
    assert outcome(answer) == "done"


POINTS = (
    Point("11", saved_only, "done", 1, ""),
    Point("12", saved_only, "", 0, "not certain|nothing was changed"),
    Point("13", not_sent, "unsure", 0, NOT_KNOWN),
    Point("14", done_by_shop, "unsure", 1, NOT_KNOWN),
    Point("15", outcome_saved, "done", 1, DONE),
    Point("16", answered, "done", 1, DONE),
    Point("17", not_sent, "done", 1, NOT_KNOWN, idempotent=True),
    Point("18", done_by_shop, "done", 1, NOT_KNOWN, idempotent=True),
)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite", slow("postgresql"), slow("dynamodb_local")])
async def test_a10_a_write_whose_process_was_killed_happens_once_and_nobody_is_told_a_lie(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The points are tried side by side, because each waits for its lease."""
    endpoint = ""
    if engine == "postgresql":
        endpoint = request.getfixturevalue(engine).new_schema()
    elif engine == "dynamodb_local":
        endpoint = request.getfixturevalue(engine)
        request.getfixturevalue("aws_environment")
    async with AsyncExitStack() as stack:
        upstream = stack.enter_context(ScriptedUpstream())
        upstream.script("*", CHOOSING)
        shop = stack.enter_context(ToolShop())
        shop.orders |= orders(range(11, 19))
        tried = [
            await stack.enter_async_context(killing(point, upstream, shop, endpoint, tmp_path))
            for point in POINTS
        ]
        for it in tried:
            await it.visitor.asks_to_cancel(it.point.number)
        for it in tried:
            await it.point.reach(it)
            it.running.service.restart(kill=True)
            await asyncio.gather(it.clicked, return_exceptions=True)
        heal(tried, upstream)
        written = writes(shop)
        for it in tried:
            if it.point.told:
                said = await it.told(f"<what now {it.point.number}>")
                assert re.search(it.point.told, said), it.point
        assert writes(shop) == written
        await asyncio.gather(*map(check_again, tried))
    # A request that was sent twice had one key, and no order had two.
    assert len(set(writes(shop))) == len({path for path, _ in writes(shop)})


def writes(shop: ToolShop) -> Sequence[tuple[str, str]]:
    found = [one for one in shop.requests if one.method == "POST"]
    return [(one.path, one.headers["idempotency-key"]) for one in found]


def heal(tried: Sequence[Killed], upstream: ScriptedUpstream) -> None:
    for it in tried:
        it.to_shop.set()
        if it.to_store:
            it.to_store.set()
        it.file("hold").unlink(missing_ok=True)
        upstream.script("*", CHOOSING, asking=it.click_text)


async def check_again(it: Killed) -> None:
    """The click is sent again, twice, and later prompts know of its outcome."""
    point, visitor = it.point, it.visitor
    answer = await visitor.click_until_answered()
    if point.outcome:
        assert answer.complete, answer.raw
        assert (outcome(answer), await it.state()) == (point.outcome, point.outcome), point
        again = await visitor.click()
        assert (again.text.strip(), outcome(again)) == (answer.text.strip(), point.outcome)
        shown = [one["steps"][0]["state"] for one in await visitor.stored() if one.get("steps")]
        assert shown[-1] == {"done": "output-available", "unsure": "output-unsure"}[point.outcome]
    else:
        assert answer.error["code"] == "approval_gone"
    told = await it.told(f"<and then {point.number}>")
    assert {"done": DONE, "unsure": NOT_KNOWN, "": "nothing was changed"}[point.outcome] in told
    assert it.shop.cancelled[point.number] == point.cancelled, point


@asynccontextmanager
async def killing(
    point: Point, upstream: ScriptedUpstream, shop: ToolShop, endpoint: str, base: Path
) -> AsyncIterator[Killed]:
    """A service at its start. `endpoint`: the address of DynamoDB or PostgreSQL; "": SQLite."""
    folder = base / point.number
    folder.mkdir()
    async with AsyncExitStack() as stack:
        to_shop = stack.enter_context(FaultProxy(shop.url))
        given: dict[str, Any] = {**UNHURRIED, "environment": {}}
        hook = ""
        if point.reach is saved_only:
            (folder / "holding_hook.py").write_text(HOLDING)
            hook = "\n[hooks.holding_hook]\n"
            given["python"] = sys.executable
            given["environment"] = {"PYTHONPATH": str(folder)}
        given["config"] = settings_file(folder, to_shop.url, idempotent=point.idempotent, more=hook)
        kept: Sessions | None = None
        given["store"], to_store = STORE, None
        if endpoint:
            to_store = stack.enter_context(FaultProxy(endpoint))
        if to_store and endpoint.startswith("postgresql:"):
            given["store"] = endpoint.replace(f":{urlsplit(endpoint).port}/", f":{to_store.port}/")
            postgres = PostgresStore(endpoint, time.time)
            stack.push_async_callback(postgres.aclose)
            kept = postgres.sessions(Retention())
        elif to_store:
            table = await new_table(endpoint, time.time, with_ttl=True)
            stack.push_async_callback(table.aclose)
            given["environment"] |= {**CREDENTIALS, "AWS_ENDPOINT_URL_DYNAMODB": to_store.url}
            given["store"], kept = f"dynamodb://{table.table}", table.sessions(Retention())
        running = stack.enter_context(stage(1, upstream=upstream, **given))
        it = Killed(point, running, upstream, shop)
        it.to_shop, it.to_store = to_shop, to_store
        if kept is None:
            kept = await stack.enter_async_context(store_of(running, time.time))
        it.kept = kept
        yield it
