"""A scripted model server that needs little processor time, so that it does not limit the load.

The last user message is its command, `bench:MODE:NUMBERS`, because it passes through any proxy.

    bench:flat:N             N chunks as fast as they are read
    bench:paced:N:MS         N chunks, one every MS milliseconds
    bench:first:MS:N         the first chunk after MS milliseconds, the rest at once
    bench:hold               one chunk, then silence until the client leaves

Each event is one HTTP chunk, as model servers write them.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
from itertools import cycle, islice
from typing import cast

import uvloop

DIRECTIVE = re.compile(rb"bench:([a-z]+)((?::\d+)*)")
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
WORDS = ("Shipping", " takes", " two", " to", " four", " days", ",", " 通常", "两天", "。")
BLOCK = 32
"""Events in one write when nothing paces them: about 8 KB."""

HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
)


def framed(event: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(event), event)


def chunk(delta: dict[str, str], finish_reason: str | None = None) -> bytes:
    """An event of about 200 bytes with the usual fields."""
    content = {
        "id": "chatcmpl-7f9c2ba4e88f827d616045507605853e",
        "object": "chat.completion.chunk",
        "created": 1767225600,
        "model": "LongCat-Flash-Chat",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return framed(b"data: " + text.encode() + b"\n\n")


FIRST = chunk({"role": "assistant", "content": "Hello"})
MIDDLE = [chunk({"content": word}) for word in WORDS]
BLOCK_BYTES = b"".join(islice(cycle(MIDDLE), BLOCK))
LAST = chunk({}, "stop") + framed(b"data: [DONE]\n\n") + b"0\r\n\r\n"
OVERHEAD = 2
"""Events beyond the N asked for: the finish_reason chunk and [DONE]."""


class Player(asyncio.Protocol):
    """One connection, which sends one answer at a time."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.received = b""
        self.left = 0
        self.interval = 0.0
        self.due = 0.0
        self.timer: asyncio.TimerHandle | None = None
        self.paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it
        self.transport.set_write_buffer_limits(high=256 * 1024)

    def connection_lost(self, exc: Exception | None) -> None:
        self.left = 0
        if self.timer:
            self.timer.cancel()

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False
        if self.left and not self.interval:
            self.flat()

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, separator, body = self.received.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        if not separator or len(body) < (int(length[1]) if length else 0):
            return
        self.received = b""
        found = DIRECTIVE.search(body)
        mode = found[1].decode() if found else "flat"
        numbers = [int(n) for n in found[2].split(b":")[1:]] if found else [3]
        self.play(mode, numbers)

    def play(self, mode: str, numbers: list[int]) -> None:
        self.interval = 0.0
        if mode == "flat":
            self.left = numbers[0] - 1
            self.transport.write(HEAD + FIRST)
            self.flat()
        elif mode == "paced":
            self.left, self.interval = numbers[0], numbers[1] / 1000
            self.due = self.loop.time()
            self.transport.write(HEAD)
            self.tick()
        elif mode == "first":
            self.transport.write(HEAD)
            self.left = numbers[1]
            self.timer = self.loop.call_later(numbers[0] / 1000, self.flat)
        else:
            self.transport.write(HEAD + FIRST)

    def flat(self) -> None:
        while self.left >= BLOCK and not self.paused:
            self.left -= BLOCK
            self.transport.write(BLOCK_BYTES)
        if self.left < BLOCK and not self.paused:
            rest = b"".join(islice(cycle(MIDDLE), self.left))
            self.left = 0
            self.transport.write(rest + LAST)

    def tick(self) -> None:
        self.left -= 1
        self.transport.write(MIDDLE[self.left % len(MIDDLE)])
        self.due += self.interval
        then = self.tick if self.left else self.finish
        self.timer = self.loop.call_at(self.due, then)

    def finish(self) -> None:
        self.transport.write(LAST)


async def serve() -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    server = await asyncio.get_running_loop().create_server(Player, sock=listener, backlog=4096)
    print(f"ready: http://127.0.0.1:{listener.getsockname()[1]}/", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve())
