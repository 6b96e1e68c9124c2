"""The least relay that keeps our promises: every event parsed, inspected and sent on anew.

`python -m benchmarks.trials.relay CLIENT UPSTREAM_BASE_URL`
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable

from fastapi import FastAPI, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from benchmarks.serving import serve
from benchmarks.trials.clients import CLIENTS

HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]


class Events:
    """Cuts bytes into events; keeps what is not whole yet."""

    def __init__(self) -> None:
        self.rest = b""

    def feed(self, block: bytes) -> bytes:
        """The whole events of this block, checked, as one piece to send."""
        *events, self.rest = (self.rest + block).split(b"\n\n")
        return b"".join(map(self.checked, events))

    @staticmethod
    def checked(event: bytes) -> bytes:
        content = event.removeprefix(b"data: ")
        if content != b"[DONE]":
            chunk = json.loads(content)
            if "error" in chunk or not isinstance(chunk["choices"], list):
                raise ValueError("not a chunk")
        return b"data: " + content + b"\n\n"


class Relayed(Response):
    def __init__(self, blocks: AsyncIterator[bytes]) -> None:
        self.blocks = blocks
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        events = Events()
        started = False
        async for block in self.blocks:
            piece = events.feed(block)
            if not started:
                await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
                started = True
            if piece:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def relay(blocks: Callable[[bytes], AsyncIterator[bytes]]) -> FastAPI:
    app = FastAPI(openapi_url=None)

    @app.post("/api/chat")
    async def chat(request: Request) -> Response:
        question = json.loads(await request.body())
        return Relayed(blocks(json.dumps(question, ensure_ascii=False).encode()))

    return app


if __name__ == "__main__":
    serve(relay(CLIENTS[sys.argv[1]](sys.argv[2] + "/chat/completions")))
