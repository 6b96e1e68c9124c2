"""What MCP sends over HTTP: the values of headers, and the responses to requests."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final

from kefu.tools.request import ToolResponse

NEWEST: Final = "2026-07-28"
OLDER: Final = ("2025-11-25", "2025-06-18", "2025-03-26")
"""Revisions with a handshake."""

_OLDER_ANSWERS: Final = (400, 404, 405, 406)
"""Statuses with which servers of older revisions refuse a request without a handshake."""

_INVALID_PARAMS, _INTERNAL_ERROR = -32602, -32603
_LINE_ENDS = re.compile(r"\r\n|\n|\r")
_PLAIN = re.compile(r"(?!=\?)[!-~](?:[ -~]*[!-~])?")

Json = Mapping[str, Any]


class McpFailed(Exception):
    """The server gave no result. The message says why, without an address and without a secret."""

    def __init__(self, reason: str, *, certain: bool, refused: bool = False) -> None:
        """`certain`: whether a call was certainly not carried out.

        `refused`: whether another revision may be accepted.
        """
        super().__init__(reason)
        self.certain = certain
        self.refused = refused

    def before_the_call(self) -> McpFailed:
        """The same for a handshake, after which no tool was called."""
        return McpFailed(str(self), certain=True)


def header_value(text: str) -> str:
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


def result_of(response: ToolResponse, id: int) -> Json:
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


def has_result(response: ToolResponse, id: int) -> bool:
    """Whether a stream of events, which its server may keep open, has the response to a request."""
    body = response.body
    has_end = body.endswith((b"\n\n", b"\r\n\r\n", b"\r\r"))
    # Before that, not each of many notifications is parsed with all those before it.
    may_have = b'"result"' in body or b'"error"' in body
    return has_end and may_have and _is_stream(response) and bool(_message(response, id))


def _is_stream(response: ToolResponse) -> bool:
    return response.headers.get("content-type", "").lower().startswith("text/event-stream")


def _message(response: ToolResponse, id: int) -> Json:
    """The response to the request with this id, from JSON or from a stream of events; else {}."""
    text = response.body.decode(errors="replace")
    for data in _events(text) if _is_stream(response) else (text,):
        try:
            message = _parsed(data)
        except (ValueError, RecursionError):
            continue
        if not isinstance(message, dict) or not {"result", "error"} & message.keys():
            continue  # a notification, or a request to the client
        # A server that could not read the request refuses it without an id.
        if message.get("id") in (id, None):
            return message
    return {}


def _parsed(data: str) -> object:
    """Raises ValueError and RecursionError for what no request to a model could contain."""
    value = json.loads(data, parse_constant=_no_constant)
    # JSON can name halves of surrogate pairs.
    return json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _events(text: str) -> Iterator[str]:
    """The data of server-sent events."""
    data = list[str]()
    for line in (*_LINE_ENDS.split(text), ""):
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data.clear()
