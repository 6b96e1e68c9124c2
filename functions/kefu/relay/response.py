"""Reads the chunks of one upstream response, and stops an answer that contains the API key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from kefu.errors import ConnectionLost
from kefu.relay.chunks import Chunk, Completion, InBandError, MalformedChunk
from kefu.relay.key_leak import SHORTEST, KeyLeakDetector
from kefu.relay.sse import EventTooLarge, Parser

BAD_STREAM = (ConnectionLost, EventTooLarge, InBandError, MalformedChunk)
"""The errors that `Stream.read` raises for a broken answer."""


class UpstreamResponse(Protocol):
    """An HTTP response whose headers have arrived and whose body is read step by step."""

    status: int
    headers: Mapping[str, str]
    """The response headers, with names in lower case."""

    async def read(self, timeout: float) -> bytes:
        """The next bytes of the body; empty at its end.

        Raises TimeoutError when no byte arrives within `timeout` seconds; a later call can go on
        reading without loss. Raises ConnectionLost when the connection breaks.
        """
        ...

    async def aclose(self) -> None:
        """End the exchange; return when the connection is closed, or free for another request.

        The connection is closed unless the body was read to its end. It is also closed when the
        caller is cancelled while it waits. Idempotent.
        """
        ...

    def finish(self) -> None:
        """End the exchange, but keep the connection for reuse if possible. Does not wait.

        Called when the answer is complete; bytes that may follow are discarded. Idempotent.
        """
        ...


class Stream:
    """The chunks of one response. It never returns text that contains the API key.

    This includes a key that the upstream spreads over several chunks.
    """

    def __init__(self, response: UpstreamResponse, completion: Completion, secret: str) -> None:
        self.completion = completion
        self.over = False
        self._response = response
        self._parser = Parser()
        self._secret = secret
        self._detector = KeyLeakDetector(secret) if len(secret) >= SHORTEST else None
        self._held: list[Chunk] = []
        """Chunks that may contain a part of the key. They are dropped if the answer breaks off."""
        self._deferred_error: Exception | None = None

    @property
    def finished(self) -> bool:
        """Whether a finish_reason has arrived; only usage and `[DONE]` may follow."""
        return self.completion.finish_reason is not None

    @property
    def has_content(self) -> bool:
        """Whether `read` has returned a text, a reasoning, a tool call or a finish_reason."""
        return (self.completion.has_text or self.finished) and not self._held

    async def read(self, timeout: float) -> list[Chunk]:
        """The chunks in the next bytes, possibly none. Sets `over` at `[DONE]` or at the end.

        Raises TimeoutError, or one of BAD_STREAM. Valid chunks before a bad event in the same bytes
        are returned first; the next call raises the error.
        """
        if self._deferred_error:
            raise self._deferred_error
        try:
            data = await self._response.read(timeout)
        except ConnectionLost:
            if not self.finished:
                raise
            data = b""
        chunks: list[Chunk] = []
        detector = self._detector
        on_choices = detector.feed if detector else None
        try:
            for event in self._parser.feed(data):
                if chunk := self.completion.read(event, on_choices):
                    if detector and (
                        detector.suspicious or self._held or self._secret in chunk.text
                    ):
                        chunks += self._release(chunk, detector)
                    else:
                        chunks.append(chunk)
        except (MalformedChunk, EventTooLarge, InBandError) as error:
            if not chunks:
                raise
            self._deferred_error = error
        self.over = self.completion.done or not data
        return chunks

    def _release(self, chunk: Chunk, detector: KeyLeakDetector) -> Iterable[Chunk]:
        """The held chunks and this one, if they cannot be part of the key; otherwise none."""
        prefix_length = detector.prefix_length
        # A finished answer cannot complete the key, but half of a key is already a leak.
        limit = len(self._secret) // 2 if self.finished else len(self._secret)
        if detector.found or prefix_length > limit or self._secret in chunk.text:
            raise MalformedChunk("the upstream echoed the key")
        self._held.append(chunk)
        if prefix_length and not self.finished:
            return ()
        held, self._held = self._held, []
        return held

    async def aclose(self) -> None:
        """End the exchange, like `UpstreamResponse.aclose`. Does not wait after `[DONE]`."""
        if self.completion.done:
            self._response.finish()
        else:
            await self._response.aclose()
