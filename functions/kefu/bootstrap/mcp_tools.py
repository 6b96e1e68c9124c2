"""The tools of MCP servers. They are read while the service runs: a server that is down stops
nothing, its tools are missing until it answers.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from kefu.settings import ConfigurationError, Settings
from kefu.settings.tool_approval import card_problems
from kefu.settings.tools import McpToolTable, ToolTable
from kefu.tools.mcp import McpClient
from kefu.tools.mcp_offer import LOCK_FILE, McpServer, McpWords, Offer, digest_of, offer_of
from kefu.tools.mcp_wire import Json, McpFailed
from kefu.tools.tool import Tool

REFRESH_SECONDS: Final = 300.0
"""Seconds after which the tools of a server are read again, in the background."""
RETRY_SECONDS: Final = 30.0
"""Seconds after a server that did not answer is asked again."""
PATIENCE_SECONDS: Final = 1.5
"""Seconds that an answer waits for the first list of tools. It never waits for a later one."""
READ_SECONDS: Final = 10.0
"""Seconds of a server for its list of tools."""

Lock = Mapping[str, Mapping[str, str]]
"""The digests of tools: by the name of the server's table, and by the name of the tool."""


class McpEnds:
    """Runs the ends of sessions, for which nothing waits."""

    def __init__(self) -> None:
        self._tasks = set[asyncio.Task[None]]()

    def __call__(self, end: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._run(end))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, end: Coroutine[Any, Any, None]) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(READ_SECONDS):
                await end

    async def aclose(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)


class McpSource:
    """The tools of one MCP server."""

    def __init__(
        self,
        server: McpServer,
        client: McpClient,
        locked: Mapping[str, str],
        monotonic: Callable[[], float],
        notice: Callable[[str], None],
    ) -> None:
        """`notice` is called with sentences for the operator, once with each."""
        self.server = server
        self.client = client
        self.listed: Sequence[Json] = ()
        """The tools, as the server has described them last."""
        self.offer = Offer(())
        self.trouble = ""
        """Why the last reading failed; "" if it did not, or if there was none."""
        self.locked = locked
        self._monotonic = monotonic
        self._notice = notice
        self._said = set[str]()
        self._next = float("-inf")
        self._reading: asyncio.Task[None] | None = None

    @property
    def is_new(self) -> bool:
        """Whether the server has neither answered nor failed yet."""
        return self._next == float("-inf")

    def due(self) -> asyncio.Task[None] | None:
        """Start a reading if one is due. Returns the reading that runs."""
        is_idle = self._reading is None or self._reading.done()
        if is_idle and self._monotonic() >= self._next:
            self._reading = asyncio.create_task(self._read())
        return self._reading if self._reading and not self._reading.done() else None

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(READ_SECONDS):
                self.listed = await self.client.listed()
        except (McpFailed, TimeoutError) as error:
            self._next = self._monotonic() + RETRY_SECONDS
            reason = str(error) or f"does not answer within {READ_SECONDS:.0f} s"
            self.trouble = f"The server of [tools.{self.server.table}] {reason}."
            self._say([f"{self.trouble} Its tools are missing until it answers."])
            return
        self._next, self.trouble = self._monotonic() + REFRESH_SECONDS, ""
        offer = offer_of(self.listed, self.server, self.locked, self.client)
        self.offer = judged(offer, self.server)
        self._say(self.offer.refused)

    def _say(self, sentences: Iterable[str]) -> None:
        for sentence in sentences:
            if sentence not in self._said:
                self._said.add(sentence)
                self._notice(sentence)

    async def aclose(self) -> None:
        if self._reading:
            self._reading.cancel()
            await asyncio.wait({self._reading})


class McpSources:
    """The tools of all MCP servers of a site."""

    def __init__(self, sources: Sequence[McpSource], ends: McpEnds) -> None:
        self.sources = sources
        self._ends = ends

    async def tools(self) -> Sequence[Tool]:
        """The tools that are known. Raises nothing, and waits for `PATIENCE_SECONDS` at most."""
        running = [(one, task) for one in self.sources if (task := one.due())]
        if waits := {task for one, task in running if one.is_new}:
            await asyncio.wait(waits, timeout=PATIENCE_SECONDS)
        return [tool for one in self.sources for tool in one.offer.tools]

    async def read(self) -> None:
        """As `tools`, with a wait for each server that is being read."""
        if waits := {task for one in self.sources if (task := one.due())}:
            await asyncio.wait(waits)

    def problems(self) -> Sequence[str]:
        """Why tools are missing, as far as it is known."""
        troubles = [one.trouble for one in self.sources if one.trouble]
        return [*troubles, *(says for one in self.sources for says in one.offer.refused)]

    async def aclose(self) -> None:
        for one in self.sources:
            await one.aclose()
        await self._ends.aclose()


def server_of(name: str, table: ToolTable, host: str) -> McpServer:
    return McpServer(
        table=name,
        allow=table.allow,
        own={tool: _words(own) for tool, own in table.tools.items()},
        host=host,
        after=table.after,
        links=table.links,
        needs_user=table.needs_user,
    )


def _words(own: McpToolTable) -> McpWords:
    return McpWords(
        effect=own.effect or None,
        title=own.title,
        approve=own.approve,
        preview=own.preview,
        idempotent=own.idempotent,
        bind=own.bind,
    )


def judged(offer: Offer, server: McpServer) -> Offer:
    """Without the writes of which a card could not show what they do: A9, as for all tools."""
    tools, refused = list[Tool](), [*offer.refused]
    for tool in offer.tools:
        if wrong := _wrong(tool):
            key = f"[tools.{server.table}.tools.{tool.name}]"
            refused.append(f"The tool {tool.name} is not offered: {key}: {wrong}.")
        else:
            tools.append(tool)
    return Offer(tools, refused)


def _wrong(tool: Tool) -> str:
    if tool.effect == "read":
        return ""
    schema: Json = tool.parameters
    given = schema.get("properties", {})
    properties = {name: one if isinstance(one, dict) else {} for name, one in given.items()}
    required = schema.get("required") or ()
    table = ToolTable(
        mcp="https://server.invalid",
        effect="write",
        approve=dict(tool.approve),
        preview=tool.preview,
        bind=dict(tool.bind),
        optional=tuple(name for name in properties if name not in required),
    )
    found = (f"{key}: {says}" for key, says in card_problems(table, properties))
    return next(found, "")


def lock_place(settings: Settings) -> Path:
    """The path of the lock: beside kefu.toml."""
    return Path(settings.config_file).parent / LOCK_FILE


def read_lock(place: Path) -> Lock:
    """The digests of the tools that the owner has read. Raises ConfigurationError."""
    again = "Delete it, and run `kefu tools lock`."
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{place} cannot be read: {error}. {again}") from None
    tables = found.values() if isinstance(found, dict) else [None]
    if not all(isinstance(one, dict) for one in tables):
        raise ConfigurationError(f"{place} is not a lock of tools. {again}")
    return found if isinstance(found, dict) else {}


def lock_text(digests: Lock) -> str:
    """The lock as a file, in an order that shows small differences to a reader."""
    return json.dumps(digests, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def digests_of(listed: Sequence[Json], allow: Sequence[str]) -> Mapping[str, str]:
    """The digests of the allowed tools of a server."""
    return {str(one["name"]): digest_of(one) for one in listed if one.get("name") in allow}
