"""Answers the messages of MCP: of revision 2026-07-28, and of older ones without a session.

Nothing is kept between two messages, so any instance of the service can answer each.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from kefu import __version__
from kefu.tools.mcp_wire import NEWEST, OLDER, header_text
from kefu.web.json_response import compact
from kefu.web.page_tools import DEFINITIONS, PageTools, WrongArguments

Json = dict[str, Any]
Headers = Mapping[str, str]

_META: Final = "io.modelcontextprotocol/"
_NAME: Final = {"name": "kefu", "title": "The pages of this website", "version": __version__}
_CAPABILITIES: Final[Json] = {"tools": {}}
_CACHE: Final = {"ttlMs": 300_000, "cacheScope": "public"}
"""For five minutes: the tools change only with the version of Kefu."""

_NO_REQUEST, _NO_METHOD, _NO_PARAMS = -32600, -32601, -32602
_HEADERS_DIFFER, _NO_VERSION = -32020, -32022


class McpReply(NamedTuple):
    """A response: its status, and its message, which is None for a notification."""

    status: int
    message: Json | None = None
    facts: Mapping[str, object] = MappingProxyType({})
    """For the log of requests."""


class _Wrong(Exception):
    """The message is refused."""

    def __init__(self, code: int, says: str, status: int = 400, data: object = None) -> None:
        super().__init__(says)
        self.code = code
        self.status = status
        self.data = data


async def reply_to(message: object, headers: Headers, tools: PageTools) -> McpReply:
    """`headers`: of the request; names in any case. `message`: its JSON."""
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        return _error(None, _Wrong(_NO_REQUEST, "Send one request or notification of JSON-RPC."))
    if "id" not in message:
        return McpReply(202)
    id, method = message["id"], message["method"]
    params = message.get("params", {})
    facts: Json = {"mcp": method[:40]}
    try:
        if type(id) not in (int, str) or not isinstance(params, dict):
            raise _Wrong(_NO_REQUEST, "`id` must be a number or a text, and `params` an object.")
        newest = _is_newest(headers, method, params)
        if method == "tools/call":
            facts["tool"] = str(params.get("name"))[:40]
            result = await _called(params, tools)
        else:
            result = _told(method, params, newest=newest)
    except _Wrong as error:
        return _error(id if type(id) in (int, str) else None, error)._replace(facts=facts)
    if newest:
        result = {"resultType": "complete", **result, "_meta": {f"{_META}serverInfo": _NAME}}
    return McpReply(200, {"jsonrpc": "2.0", "id": id, "result": result}, facts)


def _error(id: object, error: _Wrong) -> McpReply:
    said: Json = {"code": error.code, "message": str(error)}
    if error.data is not None:
        said["data"] = error.data
    return McpReply(error.status, {"jsonrpc": "2.0", "id": id, "error": said})


def _is_newest(headers: Headers, method: str, params: Json) -> bool:
    """Whether the request is of the newest revision. Raises _Wrong for one of an unknown revision,
    and for one whose headers say something else than its body.
    """
    version = headers.get("mcp-protocol-version")
    if version in (None, *OLDER):
        return False
    if version != NEWEST:
        data = {"supported": [NEWEST, *OLDER], "requested": version}
        raise _Wrong(_NO_VERSION, "Unsupported protocol version", data=data)
    meta = params.get("_meta")
    given = meta if isinstance(meta, dict) else {}
    for name in ("protocolVersion", "clientCapabilities"):
        if f"{_META}{name}" not in given:
            raise _Wrong(_NO_PARAMS, f"params._meta must have {_META}{name}.")
    tool = params.get("name") if method == "tools/call" else None
    named = None if tool is None else header_text(headers.get("mcp-name", ""))
    said = (version, headers.get("mcp-method"), named)
    if said != (given[f"{_META}protocolVersion"], method, tool):
        raise _Wrong(_HEADERS_DIFFER, "The headers do not match the body of the request.")
    return True


def _told(method: str, params: Json, *, newest: bool) -> Json:
    """The answer to a method that needs no page. Raises _Wrong."""
    if method == "tools/list":
        return {"tools": list(DEFINITIONS), **(_CACHE if newest else {})}
    if method == "ping":
        return {}
    if newest and method == "server/discover":
        return {"supportedVersions": [NEWEST, *OLDER], "capabilities": _CAPABILITIES, **_CACHE}
    if not newest and method == "initialize":
        wanted = params.get("protocolVersion")
        version = wanted if wanted in OLDER else OLDER[0]
        return {"protocolVersion": version, "capabilities": _CAPABILITIES, "serverInfo": _NAME}
    raise _Wrong(_NO_METHOD, "There is no such method.", 404 if newest else 200)


async def _called(params: Json, tools: PageTools) -> Json:
    """Raises _Wrong for a call that names no tool."""
    name, arguments = params.get("name"), params.get("arguments") or {}
    names = [one["name"] for one in DEFINITIONS]
    if name not in names:
        raise _Wrong(_NO_PARAMS, f"There is no such tool. There are {' and '.join(names)}.")
    if not isinstance(arguments, dict):
        raise _Wrong(_NO_PARAMS, "`arguments` must be an object.")
    try:
        found = await tools.call(str(name), arguments)
    except WrongArguments as error:
        # The assistant reads this one, and can correct itself.
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}
    text = {"type": "text", "text": compact(found)}
    return {"content": [text], "structuredContent": found, "isError": False}
