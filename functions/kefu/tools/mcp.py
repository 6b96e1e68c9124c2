"""A client of MCP servers: streamable HTTP over the port `Send`, without a session that is kept.

Revision 2026-07-28 has no handshake: each request is one POST. Servers of older revisions get a
handshake for each call. The client remembers which of the two a server needs.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from kefu import __version__
from kefu.errors import UpstreamUnavailable
from kefu.tools.mcp_wire import (
    NEWEST,
    OLDER,
    Json,
    McpFailed,
    has_result,
    header_value,
    result_of,
)
from kefu.tools.request import NoResponse, NotSent, Send, ToolRequest, ToolResponse

MAX_PAGES: Final = 10
"""Pages of a list of tools that are read."""

_CLIENT: Final = {"name": "kefu", "version": __version__}
_META: Final = {
    "io.modelcontextprotocol/protocolVersion": NEWEST,
    "io.modelcontextprotocol/clientInfo": _CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}

Headers = Callable[[], Awaitable[Mapping[str, str]]]
"""The owner's headers of a request, with the secrets in them. Raises UpstreamUnavailable for a
secret that could not be read.
"""
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})

Later = Callable[[Coroutine[Any, Any, None]], object]

Session = Mapping[str, str] | None
"""The headers of a session, for servers of older revisions; else None."""


class McpCall(NamedTuple):
    """What a call needs beside the arguments."""

    schema: Json = _NOTHING
    """The tool's `inputSchema`."""
    headers: Mapping[str, str] = _NOTHING
    """Further headers."""
    reads: bool = True


class McpClient:
    """The client of one server."""

    def __init__(self, url: str, headers: Headers, send: Send, later: Later) -> None:
        """`later` runs the end of a session, for which no call waits."""
        self._url = url
        self._later = later
        self._headers = headers
        self._send = send
        self._is_older = False

    async def listed(self) -> list[Json]:
        """The server's tools, as it describes them. Raises McpFailed."""
        known = self._is_older
        try:
            return await self._pages(older=known)
        except McpFailed as failed:
            if not failed.refused:
                raise
        tools = await self._pages(older=not known)
        self._is_older = not known
        return tools

    async def call(self, name: str, arguments: Json, asked: McpCall) -> Json:
        """Call a tool, and return its result. Raises McpFailed."""
        try:
            session = await self._open(older=self._is_older)
        except McpFailed as failed:
            raise failed.before_the_call() from None
        headers = asked.headers
        if session is None:
            headers = {**headers, **_mirrored(name, arguments, asked.schema)}
        params = {"name": name, "arguments": dict(arguments)}
        try:
            return await self._ask("tools/call", params, session, headers, keep=asked.reads)
        finally:
            self._close(session)

    async def _pages(self, *, older: bool) -> list[Json]:
        session = await self._open(older=older)
        tools, cursor = list[Json](), None
        for _ in range(MAX_PAGES):
            page = await self._ask("tools/list", {"cursor": cursor} if cursor else {}, session)
            found, cursor = page.get("tools"), page.get("nextCursor")
            tools += filter(_is_object, found if isinstance(found, list) else ())
            if not (isinstance(cursor, str) and cursor):
                break
        self._close(session)
        return tools

    async def _open(self, *, older: bool) -> Session:
        """Do the handshake of older revisions."""
        if not older:
            return None
        wanted = {"protocolVersion": OLDER[0], "capabilities": {}, "clientInfo": _CLIENT}
        response = await self._post("initialize", wanted, {}, id=1)
        version = result_of(response, 1).get("protocolVersion")
        if version not in OLDER:
            raise McpFailed("speaks a revision of MCP that is not known", certain=True)
        session = {"MCP-Protocol-Version": str(version)}
        if id := response.headers.get("mcp-session-id"):
            session["Mcp-Session-Id"] = id
        await self._post("notifications/initialized", None, session)
        return session

    def _close(self, session: Session) -> None:
        """End the session of an older revision, so that the server need not keep it."""
        if session and "Mcp-Session-Id" in session:
            self._later(self._end(session))

    async def _end(self, session: Mapping[str, str]) -> None:
        # Without it, the server forgets the session by itself, later.
        with suppress(NotSent, NoResponse, UpstreamUnavailable):
            headers = {**await self._headers(), **session}
            await self._send(ToolRequest("DELETE", self._url, headers))

    async def _ask(
        self,
        method: str,
        params: Json,
        session: Session,
        headers: Mapping[str, str] = _NOTHING,
        *,
        keep: bool = True,
    ) -> Json:
        if session is None:
            params = {**params, "_meta": _META}
            session = {"MCP-Protocol-Version": NEWEST, "Mcp-Method": method}
        headers = {**headers, **session}
        return result_of(await self._post(method, params, headers, id=2, keep=keep), 2)

    async def _post(
        self,
        method: str,
        params: Json | None,
        headers: Mapping[str, str],
        id: int | None = None,
        *,
        keep: bool = True,
    ) -> ToolResponse:
        """Send a request, or a notification without an id. Raises McpFailed.

        `keep`: whether it only reads; then it is sent again after a lost connection.
        """
        given = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        body = json.dumps({name: one for name, one in given.items() if one is not None})
        every = {"Accept": "application/json, text/event-stream"}
        try:
            every |= {"Content-Type": "application/json", **await self._headers(), **headers}
            ends = partial(has_result, id=id) if id is not None else None
            request = ToolRequest("POST", self._url, every, body.encode(), keep, ends)
            if keep:
                with suppress(NotSent, NoResponse):
                    return await self._send(request)
            return await self._send(request)
        except UpstreamUnavailable:
            raise McpFailed("needs a secret that could not be read", certain=True) from None
        except NotSent as error:
            raise McpFailed(f"cannot be reached: {error}", certain=True) from None
        except NoResponse:
            raise McpFailed("gave no response", certain=False) from None


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _mirrored(name: str, arguments: Json, schema: Json) -> dict[str, str]:
    """The headers that repeat parts of a call, so that proxies need not read its body.

    Only arguments at the top of the schema; a server refuses a call whose others are missing.
    """
    headers = {"Mcp-Name": header_value(name)}
    for argument, described in schema.get("properties", {}).items():
        header = described.get("x-mcp-header") if isinstance(described, dict) else None
        value = arguments.get(argument)
        if isinstance(header, str) and value is not None:
            text = value if isinstance(value, str) else json.dumps(value)
            headers[f"Mcp-Param-{header}"] = header_value(text)
    return headers
