"""A17: results come from the file over a socket, and nothing else runs a tool."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence

from kefu.bootstrap.tool_stand_in import with_stand_ins
from kefu.evaluation.given_results import NOT_GIVEN, GivenResults
from kefu.evaluation.tool_fields import Results
from kefu.tools.tool import Arguments, Outcome, Tool, Visitor
from kefu.tools.toolbox import Toolbox
from kefu.upstream.kefu_server import KefuServer, ServerVisitor

ADA = Visitor("session-1")


class _Known(KefuServer):
    """A service whose stored chat is known."""

    session_id = "session-1"


class _Tools:
    """Tools, of which one is read from a server, and the calls that really ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def tool(self, name: str, *, is_own: bool = False) -> Tool:
        async def run(_given: Arguments, _visitor: Visitor, key: str) -> Outcome:
            self.ran.append(f"{name} {key}")
            return Outcome("real")

        return Tool(name, "", {}, run, is_own=is_own)

    async def outcome(self, address: str, name: str, visitor: Visitor = ADA) -> Outcome:
        async def read() -> Sequence[Tool]:
            return [self.tool("of_server")]

        local = [self.tool("order"), self.tool("search_pages", is_own=True)]
        box = with_stand_ins(Toolbox(local, [read]), address)
        tools = await box.offered(None, visitor)
        return await tools[name].run({"id": "ä" * 4000}, visitor, "key")


async def _outcomes(given: GivenResults, results: Results, *names: str) -> list[Outcome]:
    tools, server = _Tools(), _Known("http://127.0.0.1:1", ServerVisitor())
    async with given.serving() as address:
        with given.asking(server, results):
            found = [await tools.outcome(address, name) for name in names]
    await server.aclose()
    assert tools.ran == [f"{one} key" for one in names if Outcome("real") in found][-1:]
    return found


async def test_a_result_replaces_the_tool_also_of_a_server() -> None:
    results = {"order": Outcome("x" * 200_000), "of_server": Outcome("lost", "unsure")}
    found = await _outcomes(GivenResults(live=False), results, "order", "of_server")
    assert found == [*results.values()]


async def test_a_call_without_a_result_is_not_made_and_noted() -> None:
    given = GivenResults(live=False)
    assert await _outcomes(given, {}, "order", "of_server") == [Outcome(NOT_GIVEN, "failed")] * 2
    assert given.missing("session-1") == ["order", "of_server"]
    assert given.missing("session-1") == []


async def test_a_result_for_every_tool_is_that_of_the_others() -> None:
    results = {"order": Outcome("own"), "*": Outcome("away", "failed")}
    found = await _outcomes(GivenResults(live=False), results, "order", "of_server")
    assert found == [*results.values()]


async def test_a_call_without_a_result_is_made_if_that_is_asked_for() -> None:
    given = GivenResults(live=True)
    results = {"of_server": Outcome("given")}
    assert await _outcomes(given, results, "of_server", "order") == [
        Outcome("given"),
        Outcome("real"),
    ]
    assert given.missing("session-1") == []


async def test_kefus_own_tools_run() -> None:
    assert await _Tools().outcome("127.0.0.1:1", "search_pages") == Outcome("real")


async def test_a_chat_that_nobody_knows_gets_no_result() -> None:
    given, tools = GivenResults(live=False), _Tools()
    async with given.serving() as address:
        found = await tools.outcome(address, "order", Visitor("another"))
    assert (found.state, tools.ran) == ("failed", [])


async def test_without_an_answer_the_tool_does_not_run() -> None:
    """The test was killed, or answers nonsense."""

    async def nonsense(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"[]")
        writer.close()

    tools, reserved = _Tools(), socket.create_server(("127.0.0.1", 0))
    port = reserved.getsockname()[1]
    reserved.close()
    server = await asyncio.start_server(nonsense, "127.0.0.1", 0)
    async with server:
        for at in (port, server.sockets[0].getsockname()[1]):
            found = await tools.outcome(f"127.0.0.1:{at}", "order")
            assert found == Outcome("Not run: `kefu test` has not answered.", "failed")
    assert tools.ran == []
