"""A22: the MCP client, before servers made with the official SDK."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import urllib.request
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

import pytest

from kefu.bootstrap.mcp_tools import McpEnds, McpSource, McpSources, digests_of, lock_text
from kefu.tools.mcp import McpClient
from kefu.tools.mcp_offer import LOCK_FILE, McpServer, McpWords
from kefu.tools.tool import Outcome, Tool, Visitor
from kefu.upstream.tool_http import ToolHttp
from tests.clients.conftest import PYTHON, ROOT
from tests.fakes.asking import get
from tests.fakes.chatting import Visitor as Browser
from tests.fakes.choosing import Choosing, rule
from tests.fakes.recorded_tool import card_in
from tests.fakes.service import Service
from tests.fakes.stage import Stage, api_keys
from tests.fakes.upstream import ScriptedUpstream

READS = ("get_order", "slow", "picture", "broken", "asks")
ALL = (*READS, "cancel_order")
CARD = {"cancel_order": McpWords(approve={"": "Cancel {order_id}?"}, preview="get_order")}


class Shop:
    """A child process with a server."""

    def __init__(self, manner: str) -> None:
        self._process = subprocess.Popen(
            [str(PYTHON), "-m", "tests.clients.scripts.mcp_server", manner],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": ""},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # the SDK logs each request
            text=True,
        )
        assert self._process.stdout
        self.port = int(self._process.stdout.readline())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def change(self) -> None:
        address = f"http://127.0.0.1:{self.port}/change"
        with urllib.request.urlopen(urllib.request.Request(address, method="POST")) as response:
            assert response.status == 204

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout
        self._process.stdout.close()


@contextlib.contextmanager
def shop(manner: str) -> Iterator[Shop]:
    if not PYTHON.exists():
        pytest.skip("The SDK of MCP is not installed. Try: make parts")
    running = Shop(manner)
    try:
        yield running
    finally:
        running.kill()


@pytest.fixture(scope="module", params=["newest", "older"])
def server(request: pytest.FixtureRequest) -> Iterator[Shop]:
    with shop(request.param) as running:
        yield running


@pytest.fixture
async def send() -> AsyncIterator[ToolHttp]:
    sender = ToolHttp()
    yield sender
    await sender.aclose()


ENDS = McpEnds()


async def headers() -> Mapping[str, str]:
    return {"X-Shop": "1"}


def client(running: Shop, send: ToolHttp) -> McpClient:
    return McpClient(running.url, headers, send, ENDS)


async def source(
    running: Shop, send: ToolHttp, notes: list[str], now: list[float], names: Sequence[str] = ALL
) -> McpSource:
    """The server's tools, all of them read and locked."""
    asked = client(running, send)
    locked = digests_of(await asked.listed(), names)
    settings = McpServer("shop", names, CARD, host="shop.example")
    return McpSource(settings, asked, locked, lambda: now[0], notes.append)


async def offered(running: Shop, send: ToolHttp) -> dict[str, Tool]:
    notes: list[str] = []
    sources = McpSources([await source(running, send, notes, [0.0])], ENDS)
    tools = {tool.name: tool for tool in await sources.tools()}
    assert notes == []
    await sources.aclose()
    return tools


async def run(tool: Tool, **arguments: Any) -> Outcome:
    async with asyncio.timeout(30):
        return await tool.run(arguments, Visitor(), "key" if tool.effect == "write" else "")


async def test_a22_tools_and_hints_are_the_servers(server: Shop, send: ToolHttp) -> None:
    tools = await offered(server, send)
    assert sorted(tools) == sorted(ALL)
    assert {one.name for one in tools.values() if one.effect == "read"} == {*READS}
    order = tools["get_order"]
    assert order.description == "State and delivery day of an order."
    assert order.parameters["required"] == ["order_id"]


async def test_a22_calls_have_the_results_of_the_tools(server: Shop, send: ToolHttp) -> None:
    tools = await offered(server, send)
    order = '{"order_id": "5", "state": "sent", "total": "8 €"}'
    assert await run(tools["get_order"], order_id="5") == Outcome(order)
    assert await run(tools["slow"]) == Outcome('{"result": "slow, 天 done"}')
    assert (await run(tools["picture"])).text == "[image image/png, which is not shown]"
    broken = await run(tools["broken"])
    assert broken.state == "failed"
    assert "a secret of the shop" not in broken.text or "Error" in broken.text


async def test_a22_a_write_happens_once_for_each_call(server: Shop, send: ToolHttp) -> None:
    tools = await offered(server, send)
    first = await run(tools["cancel_order"], order_id="9")
    assert first.state == "done"
    again = await run(tools["get_order"], order_id="9")
    assert '"cancelled"' in again.text


async def test_a22_wrong_arguments_and_questions_are_failed_calls(
    server: Shop, send: ToolHttp
) -> None:
    tools = await offered(server, send)
    assert (await run(tools["get_order"])).state == "failed"
    asks = await run(tools["asks"])
    assert asks.state == "failed"


async def test_a22_many_calls_side_by_side_keep_their_results(server: Shop, send: ToolHttp) -> None:
    order = (await offered(server, send))["get_order"]
    found = await asyncio.gather(*(run(order, order_id=f"n{n}") for n in range(20)))
    assert [f'"order_id": "n{n}"' in one.text for n, one in enumerate(found)] == [True] * 20


@pytest.mark.slow
async def test_a22_a_tool_that_changes_after_the_lock_is_not_offered_any_more(
    send: ToolHttp,
) -> None:
    notes, now = list[str](), [0.0]
    with shop("changing") as running:
        one = await source(running, send, notes, now)
        sources = McpSources([one], ENDS)
        assert {tool.name for tool in await sources.tools()} == {*ALL}
        running.change()
        now[0] += 301
        await sources.tools()  # starts to read the list again
        await sources.read()
        assert {tool.name for tool in await sources.tools()} == {*ALL} - {"get_order"}
        (note,) = notes
        assert "get_order of [tools.shop] is not offered" in note
        assert sources.problems() == notes
        await sources.aclose()


@pytest.mark.slow
async def test_a1_a_server_that_is_down_is_asked_again_after_a_pause(send: ToolHttp) -> None:
    notes, now = list[str](), [0.0]
    with shop("newest") as running:
        one = await source(running, send, notes, now)
    sources = McpSources([one], ENDS)
    assert await sources.tools() == []
    (note,) = notes
    assert "The server of [tools.shop] cannot be reached" in note
    assert str(running.port) not in note
    assert one.due() is None, "not before the pause is over"
    now[0] += 31
    assert one.due()
    await sources.read()
    assert notes == [note], "said once"
    assert sources.problems() == [note.removesuffix(" Its tools are missing until it answers.")]
    await sources.aclose()


CONFIG = """
[tools.shop]
mcp = "{url}"
allow = ["get_order", "cancel_order"]

[tools.shop.tools.cancel_order]
approve = "Cancel order {{order_id}}? {{total}}"
preview = "get_order"
"""


@contextlib.contextmanager
def chats(url: str, locked: Mapping[str, str]) -> Iterator[Stage]:
    """A service with the tools of the server, before a model that calls them."""
    with ScriptedUpstream() as upstream:
        looks = rule(r"[Ww]here is order (\d+)", "get_order", order_id=r"\1")
        cancels = rule(r"[Cc]ancel (\d+)", "cancel_order", order_id=r"\1")
        upstream.script("*", Choosing(looks, cancels))
        chat = Service(upstream.base_url, api_keys(1))
        (chat.folder / "kefu.toml").write_text(CONFIG.format(url=url))
        (chat.folder / LOCK_FILE).write_text(lock_text({"shop": locked}))
        with chat:
            yield Stage(upstream, chat, api_keys(1))


async def locked_tools(server: Shop, send: ToolHttp) -> Mapping[str, str]:
    return digests_of(await client(server, send).listed(), ALL)


async def test_a22_a_chat_looks_something_up_on_an_mcp_server(server: Shop, send: ToolHttp) -> None:
    """Also the first chat of a process, which waits for the list of tools."""
    with chats(server.url, await locked_tools(server, send)) as stage:
        answer = await stage.ask("Where is order 5?")
        assert answer.text == 'The results: {"order_id": "5", "state": "sent", "total": "8 €"}'
        ready = await get(stage.url, "/ready")
        assert (ready.status_code, ready.json()) == (200, {"ready": True, "problems": []})


async def test_a10_a_write_on_an_mcp_server_waits_for_the_click_and_happens_once(
    server: Shop, send: ToolHttp
) -> None:
    """The card has a value of the server's own read tool."""
    with chats(server.url, await locked_tools(server, send)) as stage:
        visitor = Browser(stage)
        asked = await visitor.say("Cancel 7", steps=True)
        card = card_in([json.loads(text) for _, text in asked.events if text != "[DONE]"])
        assert card["text"] == "Cancel order \u20687\u2069? \u20688 €\u2069"
        order = (await offered(server, send))["get_order"]
        assert '"sent"' in (await run(order, order_id="7")).text
        click = {"session_id": visitor.session_id, "approval": {"id": card["id"], "approved": True}}
        first = await stage.ask(click, headers=visitor.headers)
        again = await stage.ask(click, headers=visitor.headers)
        assert "cancelled 1 times" in first.text
        assert again.text == first.text
        assert '"cancelled"' in (await run(order, order_id="7")).text


async def test_a1_a_chat_is_answered_without_the_tools_of_a_server_that_is_down() -> None:
    with chats("http://127.0.0.1:1/mcp", {}) as stage:
        answer = await stage.ask("Where is order 5?")
        assert answer.text == "No tool: Where is order 5?"
        assert "tools" not in (await stage.upstream.asked("order 5")).body
        ready = await get(stage.url, "/ready")
        assert ready.status_code == 200, "the service answers chats"
        (note,) = ready.json()["notes"]
        assert note.startswith("The server of [tools.shop] cannot be reached")
        assert "Its tools are missing until it answers." in stage.service.stderr
