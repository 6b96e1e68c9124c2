"""Asks one upstream with one key, and reads its answer up to the first content.

Content is text, reasoning, a tool call or a finish_reason. A chunk with only a role, an empty chunk
and a comment are not content: an upstream can still fail after them as if it had said nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, cast

from kefu.errors import CertificateRejected, ConnectionLost, HostUnreachable
from kefu.relay.chunks import Chunk, InBandError, Json, MalformedChunk, error_status
from kefu.relay.completion_stream import Attempt, Call, Clock, Opened, Upstream
from kefu.relay.failures import Failed
from kefu.relay.key_pool import ApiKey, KeyPool
from kefu.relay.response import Stream, UpstreamResponse
from kefu.relay.sse import EventTooLarge

_MAX_ERROR_BODY = 64 * 1024
_ERROR_BODY_TIME = 1.0
"""Seconds for reading the body of an error, which only refines the error."""
_MAX_HELD = 16
"""Chunks before the first content that are kept for the client. Further ones say nothing either."""


class Provider(NamedTuple):
    """An upstream with its keys."""

    upstream: Upstream
    pool: KeyPool
    name: str = ""
    """`primary` or `fallback`, if there are two."""
    model: str = ""
    """Replaces the model in the request; empty to leave it."""

    def body(self, body: bytes) -> bytes:
        """The request's body for this upstream."""
        if not self.model:
            return body
        return json.dumps({**json.loads(body), "model": self.model}).encode()


@dataclass(slots=True, eq=False)
class RunningAttempt:
    provider: Provider
    key: ApiKey
    started: float
    """Monotonic time."""
    tried_again: bool = False
    """Whether the key was failing, and is asked only to see whether it is good again."""
    answered: bool = False
    """Whether the upstream has sent status 200 and the headers of an event stream."""

    def record(self, outcome: str, now: float) -> Attempt:
        """This attempt for logs; it ended at `now`, monotonic time."""
        name = self.provider.name
        return Attempt(
            self.key.fingerprint, outcome, now - self.started, self.started, upstream=name
        )

    async def first_content(
        self, call: Call, clock: Clock, until: float, on_answered: Callable[[], None]
    ) -> Opened:
        """Send the request and read until the first content.

        `until`: the monotonic time after which nothing is read. Before it the caller sets the
        limits: it cancels, which closes the connection. Raises Failed.
        """
        try:
            body = self.provider.body(call.body)
            response = await self.provider.upstream.send(body, self.key.secret)
        except HostUnreachable as error:
            raise Failed("unreachable", billed=error.request_sent) from error
        except CertificateRejected as error:
            raise Failed("certificate", billed=False) from error
        try:
            await _check_head(response, clock)
            self.answered = True
            on_answered()
            stream = Stream(response, call.completion.blank(), self.key.secret)
            return await _read_to_content(stream, response, until, clock)
        except BaseException:
            await response.aclose()
            raise


async def _check_head(response: UpstreamResponse, clock: Clock) -> None:
    """Raise Failed unless the response is an event stream with status 200."""
    status, headers = response.status, response.headers
    if status != 200:
        said = await _error_body(response, clock)
        body = _json_object(said)
        raise Failed(
            f"http_{status}", status=status, headers=headers, body=body, said=said, billed=False
        )
    if not _is_stream(headers):
        said = await _error_body(response, clock)
        body = _json_object(said)
        if isinstance(body.get("error"), dict):
            raise _in_band(InBandError(error_status(body), body), headers)
        raise Failed("not_sse", said=said)


async def _read_to_content(
    stream: Stream, response: UpstreamResponse, until: float, clock: Clock
) -> Opened:
    held: list[Chunk] = []
    try:
        while not stream.over:
            held += await stream.read(max(0.001, until - clock.monotonic()))
            if stream.has_content:
                return Opened(stream, held)
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


async def _error_body(response: UpstreamResponse, clock: Clock) -> str:
    """The beginning of a response's body, as text: at most 64 KiB, within about a second."""
    body, until = b"", clock.monotonic() + _ERROR_BODY_TIME
    try:
        while len(body) < _MAX_ERROR_BODY and (left := until - clock.monotonic()) > 0:
            part = await response.read(left)
            if not part:
                break
            body += part
    except (TimeoutError, ConnectionLost):
        pass
    return body[:_MAX_ERROR_BODY].decode("utf-8", "replace")


def _json_object(text: str) -> Json:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast(Json, body) if isinstance(body, dict) else {}


def _is_stream(headers: Mapping[str, str]) -> bool:
    """Whether the body may be an event stream. Some servers name no type, or a general one."""
    kind = headers.get("content-type", "").lower()
    return (
        kind in ("", "application/octet-stream") or kind.startswith("text/event-stream")
    ) and headers.get("content-encoding", "identity") == "identity"
