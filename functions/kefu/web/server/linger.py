"""Keeps a connection open until the client has read the response to a request it still sends.

To close a socket with unread data resets the connection, and the client loses the response: RFC
9112, section 9.6. A body that is too large is refused before it has arrived.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

LINGER_SECONDS = 2.0
"""Seconds for which the rest of a body is read and dropped."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


def lingering(app: App) -> App:
    """Wrap an ASGI application: its last message waits for the rest of the request's body."""

    async def answer(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(scope):
            await app(scope, receive, send)
            return
        unread = True

        async def read() -> Message:
            nonlocal unread
            message = await receive()
            unread = message["type"] == "http.request" and message.get("more_body", False)
            return message

        async def drop_rest() -> None:
            while unread:
                await read()

        async def write(message: Message) -> None:
            nonlocal unread
            if message["type"] == "http.response.start" and _closes(message):
                unread = False  # the body came too late; stop waiting for the rest
            if unread and message["type"] == "http.response.body" and not message.get("more_body"):
                await send({**message, "more_body": True})
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(drop_rest(), LINGER_SECONDS)
                message = {"type": "http.response.body", "body": b""}
            await send(message)

        await app(scope, read, write)

    return answer


def _closes(message: Message) -> bool:
    return (b"connection", b"close") in message["headers"]


def _has_body(scope: Message) -> bool:
    names = {name for name, _ in scope["headers"]}
    return b"content-length" in names or b"transfer-encoding" in names
