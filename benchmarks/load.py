"""The load generator, a separate process that needs little processor time.

Reads jobs from stdin and writes results to stdout, one JSON object per line. It does not parse
bodies: it counts the blank lines between events. Connections are reused between jobs.
"""

from __future__ import annotations

import asyncio
import json
import sys
from array import array
from collections import defaultdict
from collections.abc import Sequence
from time import perf_counter
from typing import Any, TypedDict, cast

import uvloop


class Job(TypedDict):
    port: int
    path: str
    message: str
    streams: int
    """Connections that ask at the same time."""
    requests: int
    """Asked one after the other on each connection."""
    ramp: float
    """Seconds over which the connections start."""
    gaps: bool
    timeout: float


class Figures(TypedDict):
    events: int
    lost: int
    elapsed: float
    first: dict[str, float]
    gap: dict[str, float]
    problem: str


class Asker(asyncio.Protocol):
    """A keep-alive connection that sends requests and counts the events of the answers."""

    def __init__(self, gaps: bool) -> None:
        self.loop = asyncio.get_running_loop()
        self.record = gaps
        self.gaps = array("d")
        self.done: asyncio.Future[str] = self.loop.create_future()
        self.closed = False
        self.events = 0
        self.in_body = False
        self.head = b""
        self.tail = b""
        self.sent = self.first = self.last = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self.finish(f"closed: {exc}")

    def finish(self, problem: str) -> None:
        if not self.done.done():
            self.done.set_result(problem)

    async def ask(self, request: bytes, timeout: float) -> str:
        """Send a request. Returns "" for a complete answer, else the problem."""
        self.done = self.loop.create_future()
        self.events, self.in_body, self.head, self.tail = 0, False, b"", b""
        self.first = 0.0
        self.sent = perf_counter()
        self.transport.write(request)
        guard = self.loop.call_later(timeout, self.finish, "timeout")
        problem = await self.done
        guard.cancel()
        if problem:
            self.transport.abort()
        return problem

    def data_received(self, data: bytes) -> None:
        if not self.in_body:
            self.head += data
            head, separator, data = self.head.partition(b"\r\n\r\n")
            if not separator:
                return
            if not head.startswith(b"HTTP/1.1 200"):
                self.finish(self.head[:300].decode("latin-1"))
                return
            self.in_body = True
            if not data:
                return
        # A blank line that is divided between two reads is counted once.
        events = data.count(b"\n\n") + (self.tail[-1:] == b"\n" and data[:1] == b"\n")
        if events:
            self.arrived(events)
        self.tail = (self.tail + data)[-40:] if len(data) < 40 else data[-40:]
        if self.tail.endswith(b"\r\n0\r\n\r\n"):
            self.finish("" if b"[DONE]" in self.tail else "no [DONE]: " + self.tail.decode())

    def arrived(self, events: int) -> None:
        now = perf_counter()
        if not self.events:
            self.first = now
        elif self.record:
            self.gaps.append(now - self.last)
            self.gaps.extend([0.0] * (events - 1))
        self.last = now
        self.events += events


Pool = dict[int, list[Asker]]


def request(job: Job) -> bytes:
    message = {"role": "user", "content": job["message"]}
    body = json.dumps({"model": "bench", "messages": [message], "stream": True}).encode()
    headers = {
        "host": f"127.0.0.1:{job['port']}",
        "content-type": "application/json",
        "content-length": str(len(body)),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {job['path']} HTTP/1.1\r\n{head}\r\n".encode() + body


def spread(values: Sequence[float]) -> dict[str, float]:
    """The median, the 99th percentile and the maximum in milliseconds."""
    if not values:
        return {}
    ordered = sorted(values)
    at = {"p50": 0.50, "p99": 0.99, "max": 1.0}
    return {k: 1000 * ordered[min(len(ordered) - 1, int(len(ordered) * q))] for k, q in at.items()}


async def run(job: Job, pool: Pool) -> Figures:
    question = request(job)
    firsts: list[float] = []
    gaps = array("d")
    problems: list[str] = []
    events = 0

    async def one(number: int) -> None:
        nonlocal events
        await asyncio.sleep(job["ramp"] * number / job["streams"])
        asker = await connection(job, pool)
        for _ in range(job["requests"]):
            problem = await asker.ask(question, job["timeout"])
            events += asker.events
            if problem:
                problems.append(problem)
                return
            firsts.append(asker.first - asker.sent)
        gaps.extend(asker.gaps)
        pool[job["port"]].append(asker)

    start = perf_counter()
    await asyncio.gather(*(one(number) for number in range(job["streams"])))
    return Figures(
        events=events,
        lost=len(problems),
        elapsed=perf_counter() - start,
        first=spread(firsts),
        gap=spread(gaps),
        problem=problems[0] if problems else "",
    )


async def connection(job: Job, pool: Pool) -> Asker:
    kept = pool[job["port"]]
    while kept:
        asker = kept.pop()
        if not asker.closed:
            asker.record, asker.gaps = job["gaps"], array("d")
            return asker
    loop = asyncio.get_running_loop()
    _, asker = await loop.create_connection(lambda: Asker(job["gaps"]), "127.0.0.1", job["port"])
    return asker


async def main() -> None:
    loop = asyncio.get_running_loop()
    pool: Pool = defaultdict(list)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        job: Any = json.loads(line)
        print(json.dumps(await run(job, pool)), flush=True)


if __name__ == "__main__":
    uvloop.run(main())
