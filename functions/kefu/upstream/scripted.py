"""The default model if the local model is not installed: a fixed text that explains this."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping

from kefu.relay import sse

NAME = "scripted"
NOTICE = (
    "No model is connected: these answers are a fixed text. Set LONGCAT_API_KEYS, or "
    "KEFU_UPSTREAM_URL and a key, to talk to a real one."
)
_TEXT = (
    "This is a fixed text, not a model's answer: no local model fits this computer. "
    "Set LONGCAT_API_KEYS and start again, and a real model will answer here."
)


class ScriptedUpstream:
    """An `Upstream` without a network."""

    async def warm(self) -> None:
        """Do nothing: there is nothing to load."""

    async def send(self, body: bytes, secret: str) -> ScriptedResponse:
        return ScriptedResponse()

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""


class ScriptedResponse:
    status = 200
    headers: Mapping[str, str] = {"content-type": "text/event-stream"}

    def __init__(self) -> None:
        self._events = _events()

    async def read(self, timeout: float) -> bytes:
        await asyncio.sleep(0.03)
        return next(self._events, b"")

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    def finish(self) -> None:
        """Do nothing: there is no connection."""


def _events() -> Iterator[bytes]:
    for word in _TEXT.split(" "):
        yield _chunk({"content": f"{word} "}, None)
    yield _chunk({}, "stop")
    yield sse.DONE


def _chunk(delta: Mapping[str, str], finish_reason: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return sse.encode(json.dumps({"model": NAME, "choices": [choice]}))
