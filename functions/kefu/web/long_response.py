"""Sends a long text without making other requests wait."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kefu.web.json_response import encoded

_BLOCK_CHARS = 1 << 16
"""Characters after which a block is sent."""


class LongResponse(Response):
    """A text whose pieces are made and encoded in a thread, block by block, while it is sent.

    Pieces should be short. A thread does not release the interpreter's lock within one call of
    `json.dumps` or `str.join`, and the event loop waits for it. Starlette's StreamingResponse
    imports a part of anyio at its first use, which takes longer than any piece.
    """

    def __init__(
        self, pieces: Iterable[str], media_type: str, headers: Mapping[str, str] | None = None
    ) -> None:
        self._blocks = _blocks(pieces)
        self.status_code = 200
        self.background = None
        self.media_type = media_type
        self.init_headers(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        while block := await asyncio.to_thread(next, self._blocks, b""):
            await send({"type": "http.response.body", "body": block, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _blocks(pieces: Iterable[str]) -> Iterator[bytes]:
    held: list[str] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= _BLOCK_CHARS:
            yield encoded("".join(held))
            held, size = [], 0
    if held:
        yield encoded("".join(held))
