"""A client of MCP servers: streamable HTTP over the port `Send`, without a session that is kept.

Revision 2026-07-28 has no handshake: each request is one POST. Servers of older revisions get a
handshake for each call. The client remembers which of the two a server needs.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final, cast

from kefu import __version__
from kefu.errors import UpstreamUnavailable
from kefu.tools.request import NoResponse, NotSent, Send, ToolRequest, ToolResponse

NEWEST: Final = "2026-07-28"
OLDER: Final = ("2025-11-25", "2025-06-18", "2025-03-26")
"""Revisions with a handshake."""

MAX_PAGES: Final = 10
"""Pages of a list of tools that are read."""

_OLDER_ANSWERS: Final = (400, 404, 405, 406)
"""Statuses with which servers of older revisions refuse a request without a handshake."""

_INVALID_PARAMS, _INTERNAL_ERROR = -32602, -32603

_CLIENT: Final = {"name": "kefu", "version": __version__}
_META: Final = {
    "io.modelcontextprotocol/protocolVersion": NEWEST,
    "io.modelcontextprotocol/clientInfo": _CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_LINE_ENDS = re.compile(r"\r\n|\n|\r")
_PLAIN = re.compile(r"(?!=\?)[!-~](?:[ -~]*[!-~])?")

Json = Mapping[str, Any]
Headers = Callable[[], Awaitable[Mapping[str, str]]]
"""The owner's headers of a request, with the secrets in them. Raises UpstreamUnavailable for a
secret that could not be read.
"""
NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class McpFailed(Exception):
    """The server gave no result. The message says why, without an address and without a secret."""

    def __init__(
        self, reason: str, *, certain: bool, refused: bool = False, may_repeat: bool = False
    ) -> None:
        """`certain`: whether a call was certainly not carried out.

        `refused`: whether another revision may be accepted.
        `may_repeat`: whether the connection failed, so that another try may succeed.
        """
        super().__init__(reason)
        self.certain = certain
        self.refused = refused
        self.may_repeat = may_repeat


Session = Mapping[str, str] | None
"""The headers of a session, for servers of older revisions; else None."""


class McpClient:
    """The client of one server."""

    def __init__(self, url: str, headers: Headers, send: Send) -> None:
        self._url = url
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

    async def call(
        self, name: str, arguments: Json, schema: Json, more_headers: Mapping[str, str]
    ) -> Json:
        """Call a tool with its `inputSchema`, and return the result. Raises McpFailed."""
        session = await self._open(older=self._is_older)
        headers = {
            **more_headers,
            **(_mirrored(name, arguments, schema) if session is None else {}),
        }
        params = {"name": name, "arguments": dict(arguments)}
        result = await self._ask("tools/call", params, session, headers)
        await self._close(session)
        return result

    async def _pages(self, *, older: bool) -> list[Json]:
        session = await self._open(older=older)
        tools, cursor = list[Json](), None
        for _ in range(MAX_PAGES):
            page = await self._ask("tools/list", {"cursor": cursor} if cursor else {}, session)
            found, cursor = page.get("tools"), page.get("nextCursor")
            tools += filter(_is_object, found if isinstance(found, list) else ())
            if not (isinstance(cursor, str) and cursor):
                break
        await self._close(session)
        return tools

    async def _open(self, *, older: bool) -> Session:
        """Do the handshake of older revisions."""
        if not older:
            return None
        wanted = {"protocolVersion": OLDER[0], "capabilities": {}, "clientInfo": _CLIENT}
        response = await self._post("initialize", wanted, {}, id=1)
        version = _result(response, 1).get("protocolVersion")
        if version not in OLDER:
            raise McpFailed("speaks a revision of MCP that is not known", certain=True)
        session = {"MCP-Protocol-Version": str(version)}
        if id := response.headers.get("mcp-session-id"):
            session["Mcp-Session-Id"] = id
        await self._post("notifications/initialized", None, session)
        return session

    async def _close(self, session: Session) -> None:
        """End the session of an older revision, so that the server need not keep it."""
        if not session or "Mcp-Session-Id" not in session:
            return
        try:
            headers = {**await self._headers(), **session}
            await self._send(ToolRequest("DELETE", self._url, headers))
        except (NotSent, NoResponse, UpstreamUnavailable):
            return  # the result is here; the server forgets the session by itself

    async def _ask(
        self, method: str, params: Json, session: Session, headers: Mapping[str, str] = NO_HEADERS
    ) -> Json:
        if session is None:
            params = {**params, "_meta": _META}
            session = {"MCP-Protocol-Version": NEWEST, "Mcp-Method": method}
        return _result(await self._post(method, params, {**headers, **session}, id=2), 2)

    async def _post(
        self, method: str, params: Json | None, headers: Mapping[str, str], id: int | None = None
    ) -> ToolResponse:
        """Send a request, or a notification without an id. Raises McpFailed."""
        given = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        body = json.dumps({name: one for name, one in given.items() if one is not None})
        every = {"Accept": "application/json, text/event-stream"}
        try:
            every |= {"Content-Type": "application/json", **await self._headers(), **headers}
            return await self._send(ToolRequest("POST", self._url, every, body.encode()))
        except UpstreamUnavailable:
            raise McpFailed("needs a secret that could not be read", certain=True) from None
        except NotSent as error:
            reason = f"cannot be reached: {error}"
            raise McpFailed(reason, certain=True, may_repeat=True) from None
        except NoResponse:
            raise McpFailed("gave no response", certain=False, may_repeat=True) from None


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _mirrored(name: str, arguments: Json, schema: Json) -> dict[str, str]:
    """The headers that repeat parts of a call, so that proxies need not read its body.

    Only arguments at the top of the schema; a server refuses a call whose others are missing.
    """
    headers = {"Mcp-Name": _header_value(name)}
    for argument, described in schema.get("properties", {}).items():
        header = described.get("x-mcp-header") if isinstance(described, dict) else None
        value = arguments.get(argument)
        if isinstance(header, str) and value is not None:
            text = value if isinstance(value, str) else json.dumps(value)
            headers[f"Mcp-Param-{header}"] = _header_value(text)
    return headers


def _header_value(text: str) -> str:
    """The text, in base64 if a header cannot carry it as it is."""
    if _PLAIN.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode(errors='replace')).decode()}?="


def header_text(value: str) -> str:
    """The text of a header's value, which may be in base64; "" for damaged base64."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except ValueError:
        return ""


def _result(response: ToolResponse, id: int) -> Json:
    """The result in a response. Raises McpFailed."""
    status, message = response.status, _message(response, id)
    if isinstance(error := message.get("error"), dict):
        code = error.get("code")
        reason = f"refused the request (error {code})"
        if code == _INVALID_PARAMS:
            reason = f"refused the arguments: {str(error.get('message'))[:300]}"
        certain = code != _INTERNAL_ERROR and status < 500
        raise McpFailed(reason, certain=certain, refused=certain)
    if status >= 300:
        reason = f"answers with status {status}"
        if status < 400:
            reason = "answers with a redirect, which is not followed"
        certain = status < 500 and status != HTTPStatus.REQUEST_TIMEOUT
        raise McpFailed(reason, certain=certain, refused=status in _OLDER_ANSWERS)
    result = message.get("result")
    if not isinstance(result, dict):
        raise McpFailed("gave no valid result", certain=False)
    kind = result.get("resultType", "complete")
    if kind == "input_required":
        raise McpFailed("asks for input, which this chat cannot give", certain=True)
    if kind != "complete":
        raise McpFailed("gave no valid result", certain=False)
    return result


def _message(response: ToolResponse, id: int) -> Json:
    """The response to the request with this id, from JSON or from a stream of events; else {}."""
    text = response.body.decode(errors="replace")
    is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
    for data in _events(text) if is_stream else (text,):
        try:
            message = json.loads(data)
        except (ValueError, RecursionError):
            continue
        is_response = isinstance(message, dict) and ({"result", "error"} & message.keys())
        # A server that could not read the request refuses it without an id.
        if is_response and message.get("id") in (id, None):
            return cast(Json, message)
    return {}


def _events(text: str) -> Iterator[str]:
    """The data of server-sent events."""
    data = list[str]()
    for line in (*_LINE_ENDS.split(text), ""):
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data.clear()
