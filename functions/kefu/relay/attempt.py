"""Asks one upstream with one key, and reads its answer up to the first content.

Content is text, reasoning, a tool call or a finish_reason. A chunk with only a role, an empty chunk
and a comment are not content: an upstream can still fail after them as if it had said nothing.

The module also defines the ports `Upstream` and `UpstreamResponse`, and `Stream`, which turns the
bytes of a response into chunks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, cast

from kefu.errors import CertificateRejected, ConnectionLost, HostUnreachable
from kefu.relay.call import Attempt, Call, Clock
from kefu.relay.chunks import Chunk, Completion, InBandError, Json, MalformedChunk, error_status
from kefu.relay.failures import Failed, status_said
from kefu.relay.key_leak import MIN_KEY_SIZE, KeyLeakDetector
from kefu.relay.key_pool import ApiKey, KeyPool
from kefu.relay.parameters import Parameters
from kefu.relay.sse import EventTooLarge, Parser

BAD_STREAM = (ConnectionLost, EventTooLarge, InBandError, MalformedChunk)
"""The errors of a broken answer."""

_EVENTS_BEGIN = (b"data:", b"event:", b":")
_MAX_ERROR_BODY = 64 * 1024
_ERROR_BODY_TIME = 1.0
"""Seconds for reading the body of an error, which only refines the error."""
_MAX_HELD = 16
"""Chunks before the first content that are kept for the client; later chunks are dropped."""


class Upstream(Protocol):
    """An OpenAI-compatible `POST /chat/completions`."""

    async def send(self, body: bytes, secret: str) -> UpstreamResponse:
        """Send a request; return when the response headers have arrived. Follows no redirect.

        Raises HostUnreachable or CertificateRejected. Cancelling closes the connection.
        """
        ...


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

        The connection is closed unless the body was read to its end. The connection is also closed
        when the caller is cancelled while it waits. Idempotent.
        """
        ...

    def finish(self) -> None:
        """End the exchange, but keep the connection for reuse if possible. Does not wait.

        Called when the answer is complete; bytes that may follow are discarded. Idempotent.
        """
        ...


class ModelProvider(NamedTuple):
    """An upstream with its keys."""

    upstream: Upstream
    pool: KeyPool
    name: str
    """`primary` or `fallback`; empty if there is one."""
    parameters: Parameters


class Stream:
    """The chunks of one response. Text that contains the API key is never returned.

    A key that the upstream spreads over several chunks is found, too.
    """

    def __init__(self, response: UpstreamResponse, completion: Completion, secret: str) -> None:
        self.response = response
        self.completion = completion
        self.over = False
        self.error: Exception | None = None
        """The error to raise in place of the next read."""
        self.first: list[Chunk] = []
        """The chunks up to the first content."""
        self._parser = Parser()
        self._secret = secret
        self._detector = KeyLeakDetector(secret) if len(secret) >= MIN_KEY_SIZE else None
        self._held: list[Chunk] = []
        """Chunks that may contain a part of the key. They are dropped if the answer breaks off."""

    @property
    def has_content(self) -> bool:
        """Whether `feed` has returned a text, a reasoning, a tool call or a finish_reason."""
        completion = self.completion
        return bool(completion.has_text or completion.finish_reason) and not self._held

    def feed(self, data: bytes) -> list[Chunk]:
        """The chunks that these bytes complete, possibly none. Sets `over` at `[DONE]`.

        `data` is empty at the end of the body. Raises EventTooLarge, InBandError or MalformedChunk.
        Valid chunks before a bad event in the same bytes are returned; then it sets `error`.
        """
        chunks: list[Chunk] = []
        detector = self._detector
        on_choices = detector.feed if detector else None
        try:
            # At its end an event may lack the empty line.
            for event in self._parser.feed(data or b"\n\n"):
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
            self.error = error
        self.over = self.completion.done or not data
        return chunks

    def _release(self, chunk: Chunk, detector: KeyLeakDetector) -> Iterable[Chunk]:
        """The held chunks and `chunk`, if they cannot be a part of the key; otherwise no chunks."""
        prefix_length = detector.prefix_length
        # A finished answer cannot complete the key, but half of a key is already a leak.
        limit = len(self._secret) // 2 if self.completion.finish_reason else len(self._secret)
        if detector.found or prefix_length > limit or self._secret in chunk.text:
            self.completion.finish_reason = None  # what is withheld is missing
            raise MalformedChunk("the upstream echoed the key")
        self._held.append(chunk)
        if prefix_length and not self.completion.finish_reason:
            return ()
        held, self._held = self._held, []
        return held

    async def aclose(self) -> None:
        """End the exchange, like `UpstreamResponse.aclose`. Does not wait after `[DONE]`."""
        if self.completion.done:
            self.response.finish()
        else:
            await self.response.aclose()


@dataclass(slots=True, eq=False)
class RunningAttempt:
    provider: ModelProvider
    key: ApiKey
    started: float
    """Monotonic time."""
    tried_again: bool = False
    """Whether the key was failing, and is asked only to see whether it is good again."""
    sent: bytes = b""
    """The body of the request."""
    answered: bool = False
    """Whether the upstream has sent status 200 and the headers of an event stream."""

    def record(self, outcome: str, now: float) -> Attempt:
        """This attempt for logs; it ended at `now`, monotonic time."""
        name = self.provider.name
        return Attempt(
            self.key.fingerprint, outcome, now - self.started, self.started, upstream=name
        )

    async def first_content(
        self, call: Call, clock: Clock, until: float, on_answered: Callable[[RunningAttempt], None]
    ) -> Stream:
        """Send the request and read until the first content.

        `until`: the monotonic time after which nothing is read. The caller sets time limits before:
        a cancelled attempt closes its connection. Raises Failed.
        """
        try:
            parameters = self.provider.parameters
            self.sent = parameters.apply(call.body) if parameters.differ else call.body
            response = await self.provider.upstream.send(self.sent, self.key.secret)
        except HostUnreachable as error:
            raise Failed("unreachable", billed=error.request_sent) from error
        except CertificateRejected as error:
            raise Failed("certificate", billed=False) from error
        try:
            begun = b""
            if response.status != 200 or not is_stream(response.headers):
                begun = await _beginning(response, until, clock)
                if response.status != 200 or not is_stream(response.headers, begun):
                    raise _refusal(response, begun)
            self.answered = True
            on_answered(self)
            stream = Stream(response, call.completion.blank(), self.key.secret)
            await _read_to_content(stream, begun, until, clock)
        except BaseException:
            await response.aclose()
            raise
        return stream


def _refusal(response: UpstreamResponse, body_begins: bytes) -> Failed:
    """The failure of a response that is not an event stream with status 200."""
    said = body_begins[:_MAX_ERROR_BODY].decode("utf-8", "replace")
    status, headers = status_said(response.status, said), response.headers
    body = _json_object(said)
    if status != 200:
        return Failed(
            f"http_{status}", status=status, headers=headers, body=body, said=said, billed=False
        )
    if body.get("error"):
        return _in_band(InBandError(error_status(body), body), headers)
    return Failed("not_sse", said=said)


async def _read_to_content(stream: Stream, data: bytes, until: float, clock: Clock) -> None:
    """`data` are the bytes that have been read already."""
    response, held = stream.response, stream.first
    try:
        while not stream.over:
            if stream.error:
                raise stream.error
            data = data or await response.read(max(0.001, until - clock.monotonic()))
            held += stream.feed(data)
            data = b""
            if stream.has_content:
                return
            del held[_MAX_HELD:]
    except TimeoutError as error:
        raise Failed("no_event") from error
    except ConnectionLost as error:
        raise Failed("reset") from error
    except InBandError as error:
        raise _in_band(error, response.headers) from error
    except (MalformedChunk, EventTooLarge) as error:
        raise Failed("malformed") from error
    raise Failed("empty")


def _in_band(error: InBandError, headers: Mapping[str, str]) -> Failed:
    said = json.dumps(error.body, ensure_ascii=False)
    status = error.status
    return Failed(f"http_{status}", status=status, headers=headers, body=error.body, said=said)


async def _beginning(response: UpstreamResponse, until: float, clock: Clock) -> bytes:
    """The beginning of a body that seems to be no event stream: at most 64 KiB, and as little as
    shows that it is one after all. The rest of a body, and an error, have about a second.
    """
    body, is_error = b"", response.status != 200
    if is_error:
        until = clock.monotonic() + _ERROR_BODY_TIME
    try:
        while len(body) < _MAX_ERROR_BODY and (left := until - clock.monotonic()) > 0:
            part = await response.read(left)
            body += part
            if not part or (not is_error and is_stream(response.headers, body)):
                break
            until = min(until, clock.monotonic() + _ERROR_BODY_TIME)
    except (TimeoutError, ConnectionLost):
        pass
    return body


def _json_object(text: str) -> Json:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast(Json, body) if isinstance(body, dict) else {}


def is_stream(headers: Mapping[str, str], begun: bytes = b"") -> bool:
    """Whether the body may be an event stream. Some servers name no type, or a general type.

    `begun` is the beginning of the body: it decides if the type is another one.
    """
    kind = headers.get("content-type", "").lower()
    return (
        kind in ("", "application/octet-stream")
        or kind.startswith("text/event-stream")
        or begun[:16].lstrip().startswith(_EVENTS_BEGIN)
    ) and headers.get("content-encoding", "identity") == "identity"
