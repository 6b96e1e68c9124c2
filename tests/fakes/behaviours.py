"""The behaviours of a scripted upstream: answer, refuse, break off, or send invalid data.

A behaviour is an async callable that takes an `Exchange`. Streaming behaviours are `Stream` values:
the parts of a body, each sent in one write, and the way in which it ends.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

Chunk = dict[str, Any]
Ending = Literal["end", "cut", "reset", "silence"]
"""`end`: the response ends as HTTP wants it. `cut`: the connection closes in the middle of it."""

DONE = b"data: [DONE]\n\n"
SSE: Mapping[str, str] = {"Content-Type": "text/event-stream; charset=utf-8"}


class Exchange(Protocol):
    """One request, and the methods to answer it byte by byte."""

    @property
    def body(self) -> Any: ...

    async def send(self, octets: bytes) -> None:
        """Write the bytes, and wait until the kernel has accepted all of them."""
        ...

    async def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Send a status line and headers; parts follow, each as one HTTP chunk."""
        ...

    async def part(self, octets: bytes) -> None: ...

    async def end(self) -> None: ...

    async def silence(self) -> None:
        """Send nothing until the client disconnects or the upstream stops."""
        ...

    def reset(self) -> None: ...

    def cut(self) -> None: ...


Behaviour = Callable[[Exchange], Awaitable[None]]


def chunk(
    delta: Mapping[str, Any] | None,
    *,
    finish: str | None = None,
    id: str = "chatcmpl-scripted",
    **more: Any,
) -> Chunk:
    """A `chat.completion.chunk`; `delta=None` gives one without choices."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": id,
        "object": "chat.completion.chunk",
        "created": 1_760_000_000,
        "model": "scripted-model",
        "choices": [] if delta is None else [choice],
        **more,
    }


def event(payload: Chunk | str) -> bytes:
    text = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)
    # An unpaired surrogate has no UTF-8 encoding, so it is sent as an escape.
    return f"data: {text}\n\n".encode(errors="backslashreplace")


@dataclass(frozen=True, slots=True)
class Stream:
    """A response with status 200 and these parts as its body, each in one write."""

    parts: tuple[bytes, ...]
    delay: float = 0.0
    """Seconds before each part but the first."""
    before: float = 0.0
    """Seconds before the headers."""
    ending: Ending = "end"
    headers: Mapping[str, str] = field(default_factory=lambda: SSE)

    async def __call__(self, exchange: Exchange) -> None:
        await asyncio.sleep(self.before)
        await exchange.head(200, self.headers)
        for number, part in enumerate(self.parts):
            if number and self.delay:
                await asyncio.sleep(self.delay)
            await exchange.part(part)
        if self.ending == "end":
            await exchange.end()
        elif self.ending == "silence":
            await exchange.silence()
        else:
            # A delay, so that the peer reads the sent data before the end.
            await asyncio.sleep(0.05)
            exchange.reset() if self.ending == "reset" else exchange.cut()

    def then(self, *parts: bytes | Chunk, ending: Ending = "end") -> Stream:
        """A copy with more parts at the end."""
        more = tuple(part if isinstance(part, bytes) else event(part) for part in parts)
        return replace(self, parts=self.parts + more, ending=ending)


def answer(
    *texts: str,
    delay: float = 0.0,
    before: float = 0.0,
    reasoning: Sequence[str] = (),
    finish: str | None = "stop",
    usage: Mapping[str, int] | None = None,
    done: bool = True,
    id: str = "chatcmpl-scripted",
) -> Stream:
    """A complete answer with one event per text; without texts it says "Hello from the model."."""
    deltas: list[Chunk] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": thought} for thought in reasoning]
    deltas += [{"content": text} for text in texts or ("Hello", " from", " the model.")]
    chunks = [chunk(delta, id=id) for delta in deltas]
    if finish is not None:
        chunks.append(chunk({}, finish=finish, id=id))
    if usage is not None:
        chunks.append(chunk(None, id=id, usage=dict(usage)))
    parts = tuple(event(one) for one in chunks) + ((DONE,) if done else ())
    return Stream(parts, delay=delay, before=before)


def _pieces(count: int, delay: float) -> Stream:
    texts = [f"piece{number} " for number in range(count)]
    stream = answer(*texts, finish=None, done=False, delay=delay)
    return stream if count else replace(stream, parts=())


def pieces_text(count: int) -> str:
    """The text of the chunks that `stall_after(count)` and similar behaviours send."""
    return "".join(f"piece{number} " for number in range(count))


def stall_after(count: int, *, delay: float = 0.0) -> Stream:
    """`count` chunks of text, then silence on an open connection."""
    return replace(_pieces(count, delay), ending="silence")


def reset_after(count: int, *, delay: float = 0.0) -> Stream:
    """`count` chunks of text, then a TCP reset."""
    return replace(_pieces(count, delay), ending="reset")


def eof_after(count: int, *, clean: bool = True, delay: float = 0.0) -> Stream:
    """`count` chunks of text, then the end, without `finish_reason` and `[DONE]`."""
    return replace(_pieces(count, delay), ending="end" if clean else "cut")


def chunks(*payloads: Chunk, done: bool = True, delay: float = 0.0) -> Stream:
    """A stream with exactly these JSON objects as events."""
    return Stream(tuple(map(event, payloads)) + ((DONE,) if done else ()), delay=delay)


def drip(count: int, *, delay: float, piece: str = "drop ") -> Stream:
    """`count` chunks, one every `delay` seconds, then a regular end."""
    return answer(*[piece] * count, delay=delay)


def raw(body: bytes, *, packet_size: int | None = None, delay: float = 0.0) -> Stream:
    """These bytes as the event stream, in packets of `packet_size` bytes."""
    size = packet_size or max(1, len(body))
    return Stream(tuple(body[at : at + size] for at in range(0, len(body), size)), delay=delay)


def in_band_error(code: int | str, *, after: int = 0, message: str = "scripted failure") -> Stream:
    """An `{"error": …}` event: as the first one, or after `after` chunks of text."""
    failure = {"error": {"message": message, "type": "scripted", "param": None, "code": code}}
    return _pieces(after, 0.0).then(failure, DONE)


def malformed_json(*, after: int = 0) -> Stream:
    return _pieces(after, 0.0).then(b'data: {"choices":[{"delta":{"content":"MALFORMED\n\n', DONE)


def long_line(size: int = 1 << 20, *, after: int = 0) -> Stream:
    """A line of `size` bytes without a line break, in writes of 64 KiB."""
    letters = [b"A" * 65536] * (size // 65536)
    return _pieces(after, 0.0).then(b'data: {"x":"', *letters, ending="silence")


def gzip_body(body: bytes, *, packet_size: int = 65536) -> Stream:
    """A compressed event stream, also if the request does not accept one."""
    stream = raw(gzip.compress(body), packet_size=packet_size)
    return replace(stream, headers={**SSE, "Content-Encoding": "gzip"})


def status(
    code: int,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    *,
    before: float = 0.0,
) -> Behaviour:
    """A response with this status and a JSON body; bytes are sent unchanged."""
    default = {"error": {"message": "scripted failure", "type": "scripted", "code": str(code)}}
    octets = body if isinstance(body, bytes) else json.dumps(body or default).encode()

    async def behave(exchange: Exchange) -> None:
        await asyncio.sleep(before)
        await exchange.head(code, {"Content-Type": "application/json", **(headers or {})})
        await exchange.part(octets)
        await exchange.end()

    return behave


def json_200() -> Behaviour:
    """A complete answer as JSON, although an event stream was requested."""
    message = {"role": "assistant", "content": "JSON, not SSE"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return status(200, {"id": "x", "object": "chat.completion", "choices": [choice]})


def html_200() -> Behaviour:
    page = b"<!doctype html><title>Portal</title><h1>Please log in, HTMLPAGE</h1>"
    return status(200, page, {"Content-Type": "text/html"})


def redirect(location: str, code: int = 307) -> Behaviour:
    return status(code, b"", {"Location": location})


async def silent(exchange: Exchange) -> None:
    """Accept the request and never answer."""
    await exchange.silence()


async def headers_then_silence(exchange: Exchange) -> None:
    await exchange.head(200, SSE)
    await exchange.silence()


async def reset_at_once(exchange: Exchange) -> None:
    """Read the request, then reset the connection."""
    exchange.reset()


async def garbage(exchange: Exchange) -> None:
    """Send bytes that are not HTTP."""
    await exchange.send(b"SSH-2.0-OpenSSH_9.6\r\n")
    exchange.cut()
