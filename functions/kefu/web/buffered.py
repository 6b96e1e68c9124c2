"""Answers held back until they are whole, for a caller that takes them in one piece.

A Lambda function's buffered answer may have 6 MB; one that is longer would be an error without a
body, without CORS headers, and with a model that goes on writing.
"""

from __future__ import annotations

import json

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kefu.errors import UpstreamUnavailable
from kefu.web.error_response import error_response

LARGEST = 6 * 1024 * 1024 - 64 * 1024
"""Bytes of a body as JSON text; the rest of the 6 MB is for the headers around it."""


class Buffered:
    def __init__(self, app: ASGIApp, largest: int = LARGEST) -> None:
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
                return  # what the application says to its own failure
            size += _size_in_json(message.get("body", b""))
            held.append(message)
            if size > self._largest:
                raise _too_large()  # which ends the answer, and with it the model's

        await self._app(scope, receive, hold)
        if size > self._largest:
            await _refuse(held[0], scope, receive, send)
            return
        for message in held:
            await send(message)


def _too_large() -> UpstreamUnavailable:
    message = "The answer is too long to be sent in one piece."
    return UpstreamUnavailable(message, should_retry=False)


def _size_in_json(body: bytes) -> int:
    """Quotes, line ends and whatever is not ASCII grow when an answer becomes a JSON string."""
    return len(json.dumps(body.decode(errors="replace")))


async def _refuse(start: Message, scope: Scope, receive: Receive, send: Send) -> None:
    """503 in place of the answer, with the headers that every answer to this request has."""
    response = error_response(_too_large())
    own = {name for name, _ in response.raw_headers}
    response.raw_headers += [pair for pair in start["headers"] if pair[0] not in own]
    await response(scope, receive, send)
