"""Gives the tools of the tested service their results, in place of the services that they call.

The service that `kefu test` starts sends each call to this process: one line of JSON, with `tool`
and `session`. The reply is the result, `{"text", "state"}`, or `{"live": true}`: call the tool.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, NamedTuple

from kefu.errors import KefuError
from kefu.evaluation.tool_fields import EVERY_TOOL, Results
from kefu.upstream.kefu_server import KefuServer

NOT_GIVEN = "Not run: this is a test, and it has no result for this call."


class _Asking(NamedTuple):
    """A question that was sent, and whose answer has not begun."""

    server: KefuServer
    results: Results


class GivenResults:
    def __init__(self, *, live: bool) -> None:
        """`live`: calls without a given result are sent."""
        self._is_live = live
        self._results: dict[str, Results] = {}
        """By the ids of chats."""
        self._asking: list[_Asking] = []
        self._missing: defaultdict[str, list[str]] = defaultdict(list)

    @contextmanager
    def asking(self, server: KefuServer, results: Results) -> Iterator[None]:
        """Give these results to the calls of a chat from now on. Within, its answer begins."""
        asking = _Asking(server, results)
        self._asking.append(asking)
        self._expect(asking)
        try:
            yield
            self._expect(asking)
        finally:
            self._asking.remove(asking)

    def _expect(self, asking: _Asking) -> None:
        if asking.server.session_id:
            self._results[asking.server.session_id] = asking.results

    def missing(self, session: str) -> list[str]:
        """The tools that were called without a result, since this was last asked."""
        return self._missing.pop(session, [])

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """The address at which calls are answered, such as `127.0.0.1:4000`."""
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        async with server:
            yield "{}:{}".format(*server.sockets[0].getsockname()[:2])

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            # Damaged JSON and lost connections: the service takes that for "no result".
            with suppress(ValueError, LookupError, TypeError, OSError, KefuError):
                call = json.loads(await reader.readline())
                reply = await self._reply(str(call["session"]), str(call["tool"]))
                writer.write(json.dumps(reply).encode())
                await writer.drain()
        finally:
            writer.close()

    async def _reply(self, session: str, tool: str) -> dict[str, object]:
        if session not in self._results:
            await self._find(session)
        results = self._results.get(session, {})
        if given := results.get(tool) or results.get(EVERY_TOOL):
            return {**given._asdict()}
        if self._is_live:
            return {"live": True}
        self._missing[session].append(tool)
        return {"text": NOT_GIVEN, "state": "failed"}

    async def _find(self, session: str) -> None:
        """Find the results of a new chat, whose id has not come yet, by its first message."""
        new = [one for one in self._asking if not one.server.session_id]
        if not new:
            return
        chat: Any = await new[0].server.read(f"/admin/api/sessions/{session}")
        named = {one["client_message_id"] for one in chat["messages"]}
        for one in new:
            if one.server.message_id in named:
                self._results.setdefault(session, one.results)
