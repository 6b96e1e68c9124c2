"""H20: pages and exports of a long chat are made in a thread, and not on the event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from threading import get_ident
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message as Event

from kefu.auth.admin_tokens import AdminTokens
from kefu.bootstrap.clock import SystemClock
from kefu.sessions.store.model import NewMessage, Retention, SessionId, StoredMessage, TurnOutcome
from kefu.stores.memory import MemoryStore
from kefu.web.admin.panel import Panel, PanelInfo
from kefu.web.long_response import LongResponse
from kefu.web.routes.admin import admin_routes
from kefu.web.routes.sessions import session_routes
from kefu.web.session_chat import KeptChats
from tests.contract.chats import ONE, call, new, response
from tests.fakes.chats_in_memory import ChatsInMemory
from tests.fakes.in_process import Process
from tests.fakes.in_process_upstream import InProcessUpstream

TOKEN = "a token of the operator, long enough"
CLOCK = SystemClock()
TURNS = 120

threads: set[int] = set()
"""The threads in which the text of a message was read."""


class Watched(StoredMessage):
    def _asdict(self) -> dict[str, Any]:
        threads.add(get_ident())
        return super()._asdict()

    @property
    def content(self) -> str:
        threads.add(get_ident())
        return str(self[3])


class Store(ChatsInMemory):
    async def messages(
        self, session_id: SessionId, *, before: int | None = None, limit: int = 20, now: float
    ) -> Sequence[StoredMessage]:
        found = await super().messages(session_id, before=before, limit=limit, now=now)
        return [Watched(*one) for one in found]


async def at_once() -> None:
    """There is nothing to wait for."""


@pytest.fixture
async def browser() -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service with one long chat. It has the token of the panel and of the chat."""
    store, now = Store(CLOCK.now, Retention()), CLOCK.now()
    for number in range(TURNS):
        asked = NewMessage(f"question {number}", f"client {number}")
        begun = await store.begin(new(ONE, now), asked, now)
        await store.finish(ONE, begun.message.id, TurnOutcome("ok", f"answer {number}"), now)
        made = call(begun.message.id, now, request=b"{}" * 1000, answer=response("half \ud83d"))
        await store.record(made)
    process, limits = Process(store, InProcessUpstream({}), CLOCK), MemoryStore(CLOCK.now)
    panel = Panel(
        process.runtime,
        AdminTokens(TOKEN),
        at_once,
        limits,
        store,
        keys=lambda: pytest.fail("no test asks for keys"),
        info=PanelInfo("1", "m", "all", keeps_chats=True),
        clock=CLOCK,
        nonce=str,
    )
    app = FastAPI()
    app.include_router(admin_routes(panel))
    kept = KeptChats(process.runtime, process.sessions, None)
    app.include_router(session_routes(kept))
    headers = {
        "Authorization": f"Bearer {TOKEN}",
        "X-Session-Token": await process.sessions.token(ONE),
    }
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://kefu", headers=headers
    ) as client:
        threads.clear()
        yield client


PANEL, VISITOR = f"/admin/api/sessions/{ONE}", f"/api/sessions/{ONE}"


@pytest.mark.parametrize(
    "path",
    [
        PANEL,
        *(f"{PANEL}/export?format={name}" for name in ("json", "jsonl", "md")),
        *(f"{VISITOR}/export?format={name}" for name in ("json", "md", "txt")),
    ],
)
async def test_h20_texts_of_a_long_chat_are_written_in_threads(
    browser: httpx.AsyncClient, path: str
) -> None:
    text = (await browser.get(path)).raise_for_status().text
    assert f"question {TURNS - 1}" in text
    assert f"answer {TURNS - 1}" in text
    assert threads
    assert get_ident() not in threads


async def test_the_page_of_a_long_chat_is_json_and_leads_to_older_messages(
    browser: httpx.AsyncClient,
) -> None:
    page = (await browser.get(PANEL)).json()
    assert [one["id"] for one in page["messages"]] == list(range(2 * TURNS - 199, 2 * TURNS + 1))
    assert len(page["calls"]) == 100
    assert page["calls"][0]["response"]["choices"][0]["message"]["content"] == "half \ud83d"
    older = (await browser.get(PANEL, params={"before": page["before"]})).json()
    assert [one["id"] for one in older["messages"]] == list(range(1, 2 * TURNS - 199))
    assert older["before"] is None
    assert older["session"] == page["session"]


async def test_h20_a_long_response_is_made_in_threads_and_sent_in_blocks() -> None:
    """H20: a block is made after the one before it was sent."""
    events: list[Event] = []
    made: list[tuple[int, int]] = []

    def pieces() -> Iterator[str]:
        for number in range(20):
            made.append((get_ident(), len(events)))
            yield f"{number:02d}" * 10_000

    async def send(event: Event) -> None:
        events.append(event)

    async def receive() -> Event:
        return {"type": "http.disconnect"}

    await LongResponse(pieces(), "text/plain")({"type": "http"}, receive, send)
    start, *rest = events
    bodies = [event["body"] for event in rest]
    assert start["status"] == 200
    assert b"".join(bodies).decode() == "".join(f"{number:02d}" * 10_000 for number in range(20))
    assert max(map(len, bodies)) < 100_000
    assert [event["more_body"] for event in rest] == [True] * (len(rest) - 1) + [False]
    assert get_ident() not in {thread for thread, _ in made}
    assert len({sent for _, sent in made}) == 5


async def test_a_response_without_text_ends() -> None:
    events: list[Event] = []

    async def send(event: Event) -> None:
        events.append(event)

    async def receive() -> Event:
        return {"type": "http.disconnect"}

    await LongResponse([], "application/json", {"X-Name": "value"})({}, receive, send)
    assert [event.get("body") for event in events] == [None, b""]
    assert (b"x-name", b"value") in events[0]["headers"]
    assert (b"content-type", b"application/json") in events[0]["headers"]
