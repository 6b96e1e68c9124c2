"""A deployed Kefu as the model of a terminal chat: it is asked as the widget asks it.

Its own words about an error are what an operator wants to see, so they are told as they are.
"""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from kefu.errors import (
    CertificateRejected,
    ConnectionLost,
    GatewayTimeout,
    HostUnreachable,
    InvalidRequest,
    KefuError,
    NotFound,
    OriginNotAllowed,
    RateLimited,
    UpstreamUnavailable,
)
from kefu.stream import UpstreamResponse
from kefu.upstream.client import HttpUpstream

_CHAT = "/api/chat"
_LONGEST = 64 * 1024
_ERRORS: dict[int, type[KefuError]] = {
    400: InvalidRequest,
    403: OriginNotAllowed,
    404: NotFound,
    429: RateLimited,
    504: GatewayTimeout,
}


class KefuServer:
    """An `Upstream`. Raises the server's error itself where there is no answer."""

    def __init__(self, url: str) -> None:
        """`url` is the server's, or that of its chat, `data-api-url` of the script tag."""
        path = "" if urlsplit(url).path.strip("/") else _CHAT
        self._url = url
        self._http = HttpUpstream(url, path)

    async def warm(self) -> None:
        await self._http.warm()

    async def send(self, body: bytes, secret: str) -> UpstreamResponse:
        messages = json.loads(body)["messages"]
        asked = {"messages": [m for m in messages if m["role"] != "system"]}
        try:
            response = await self._http.send(json.dumps(asked).encode(), "")
        except (HostUnreachable, CertificateRejected) as error:
            raise UpstreamUnavailable(f"{self._url} cannot be reached ({error})") from error
        if response.status == 200:
            return response
        try:
            raise _error(response.status, await _body(response))
        finally:
            response.close()

    async def aclose(self) -> None:
        await self._http.aclose()


async def _body(response: UpstreamResponse) -> bytes:
    body = b""
    try:
        while len(body) < _LONGEST and (part := await response.read(2.0)):
            body += part
    except (TimeoutError, ConnectionLost):
        return b""
    return body


def _error(status: int, body: bytes) -> KefuError:
    message = code = ""
    try:
        told = json.loads(body)["error"]
        message, code = str(told["message"]), str(told["code"])
    except (ValueError, RecursionError, LookupError, TypeError):
        message = "The server's answer is not one of Kefu's."
    kind = _ERRORS.get(status, UpstreamUnavailable)
    said = f"HTTP {status}, {code}" if code else f"HTTP {status}"
    return kind(f"{message} ({said})", should_retry=False)
