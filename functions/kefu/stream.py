"""One upstream's response: bytes in, chunks out that are checked and name no key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kefu.completion import Chunk, Completion, InBandError, MalformedChunk
from kefu.echo import SHORTEST, Echo
from kefu.errors import ConnectionLost
from kefu.lean_typing import Protocol
from kefu.sse import EventTooLarge, Parser

BAD_STREAM = (ConnectionLost, EventTooLarge, InBandError, MalformedChunk)
"""What `Stream.read` raises when an answer goes wrong."""


class UpstreamResponse(Protocol):
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""

    async def read(self, timeout: float) -> bytes:
        """The next bytes, as they came; empty at the end.

        Raises TimeoutError after `timeout` seconds without any (nothing is lost: read again),
        ConnectionLost when the connection broke.
        """
        ...

    def close(self) -> None:
        """End the exchange; the connection is closed at once unless the body was read whole."""
        ...

    def finish(self) -> None:
        """The answer is whole: what may still come is not wanted, but the connection is.

        Saying it again changes nothing.
        """
        ...


class Stream:
    """The events of one response, parsed and checked; no key gets out, in one chunk or in many."""

    def __init__(self, response: UpstreamResponse, completion: Completion, secret: str) -> None:
        self.completion = completion
        self.over = False
        self._response = response
        self._parser = Parser()
        self._secret = secret
        self._echo = Echo(secret) if len(secret) >= SHORTEST else None
        self._held: list[Chunk] = []
        """What may turn out to name the key; in an answer that breaks off it is not missed."""
        self._bad: Exception | None = None

    @property
    def whole(self) -> bool:
        """The model said that it had finished; only usage and `[DONE]` may follow."""
        return self.completion.finish_reason is not None

    async def read(self, timeout: float) -> list[Chunk]:
        """The chunks in the next bytes, maybe none. Sets `over` at `[DONE]` or the end.

        What came before a bad event in the same bytes is given out first.
        """
        if self._bad:
            raise self._bad
        try:
            data = await self._response.read(timeout)
        except ConnectionLost:
            if not self.whole:
                raise
            data = b""
        chunks: list[Chunk] = []
        echo = self._echo
        hear = echo.hear if echo else None
        try:
            for event in self._parser.feed(data):
                if chunk := self.completion.read(event, hear):
                    if echo and (echo.suspects or self._held or self._secret in chunk.text):
                        chunks += self._harmless(chunk, echo)
                    else:
                        chunks.append(chunk)
        except (MalformedChunk, EventTooLarge, InBandError) as error:
            if not chunks:
                raise
            self._bad = error
        self.over = self.completion.done or not data
        return chunks

    def _harmless(self, chunk: Chunk, echo: Echo) -> Iterable[Chunk]:
        """The chunks that may go out now that this one is here."""
        begun = echo.begun
        # An answer that has ended does not say the rest: half a key is one too much.
        most = len(self._secret) // 2 if self.whole else len(self._secret)
        if echo.heard or begun > most or self._secret in chunk.text:
            raise MalformedChunk("the upstream echoed the key")
        self._held.append(chunk)
        if begun and not self.whole:
            return ()
        held, self._held = self._held, []
        return held

    def close(self) -> None:
        if self.completion.done:
            self._response.finish()
        else:
            self._response.close()
