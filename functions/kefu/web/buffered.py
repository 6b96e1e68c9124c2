"""Buffers responses until they are complete, for Lambda integrations that do not stream.

Lambda limits a buffered response to 6 MB. If a response is longer, Lambda sends an error without a
body and without CORS headers, and the model continues to generate text.
"""

from __future__ import annotations

import json

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kefu.errors import UpstreamUnavailable
from kefu.web.error_response import error_response

MAX_BODY_BYTES = 6 * 1024 * 1024 - 64 * 1024
"""The limit of a body in bytes, encoded as a JSON string. The rest of 6 MB is for headers."""


class Buffered:
    """ASGI middleware that sends a response only when it is complete.

    A response over `largest` bytes is cancelled and replaced by a 503.
    """

    def __init__(self, app: ASGIApp, largest: int = MAX_BODY_BYTES) -> None:
        self._app = app
        self._largest = largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        held: list[Message] = []
        size = 0

        async def hold(message: Message) -> None:
            nonlocal size
            if size > self._largest:
                return  # the application's error response after the exception below
            size += _size_in_json(message.get("body", b""))
            held.append(message)
            if size > self._largest:
                raise _too_large()  # cancels the application, and so the request to the model

        await self._app(scope, receive, hold)
        if size > self._largest:
            await _refuse(held[0], scope, receive, send)
            return
        for message in held:
            await send(message)


def _too_large() -> UpstreamUnavailable:
    message = "The answer is too long for a response without streaming."
    return UpstreamUnavailable(message, should_retry=False)


def _size_in_json(body: bytes) -> int:
    """Return the length of a body as a JSON string.

    Escaping lengthens quotes, line breaks and non-ASCII characters.
    """
    return len(json.dumps(body.decode(errors="replace")))


async def _refuse(start: Message, scope: Scope, receive: Receive, send: Send) -> None:
    """Send a 503 instead of the response, and keep its other headers, such as CORS."""
    response = error_response(_too_large())
    own = {name for name, _ in response.raw_headers}
    response.raw_headers += [pair for pair in start["headers"] if pair[0] not in own]
    await response(scope, receive, send)
