"""The log of a chat on the terminal: what a line costs the chat, and how large a turn is."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple

from kefu.answer import Patience
from kefu.events import Assistant, Event, SessionId, Tokens, event_line
from kefu.keypool import KeyPool
from kefu.react import AgentDeps, AgentOptions, create_agent_session, parse
from kefu.relay import Relay
from kefu.stores.jsonl import JsonlHistorySink, read_log
from kefu.stores.memory import MemoryStore
from kefu.upstream.scripted import ScriptedUpstream

SESSION = SessionId("sess_01ARZ3NDEKTSV4RRFFQ69G5FAV")
ANSWER = "<thought>Let me see.</thought><final>" + "It is a chat widget. " * 40 + "</final>"
PARSED = 200_000
"""Characters of the longest answer that is read."""


class SystemClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class Times(NamedTuple):
    """Seconds of one line, as a clock on the wall has them and as the processor has."""

    wall: float
    processor: float


def append_times(folder: Path, count: int) -> list[Times]:
    """Of each line of a chat, an answer of 900 characters in each."""
    sink = JsonlHistorySink(folder, SESSION)
    tokens = Tokens(1200, 210, "usage")
    body = Assistant(ANSWER, tokens=tokens, model="m", finish_reason="stop", latency_ms=900)
    spent = []
    for number in range(1, count + 1):
        event = Event(1_760_000_000.0 + number, SESSION, number, body, 1, number)
        wall, processor = time.perf_counter(), time.thread_time()
        sink.append(event)
        spent.append(Times(time.perf_counter() - wall, time.thread_time() - processor))
    sink.close()
    return spent


def read_seconds(folder: Path) -> float:
    started = time.process_time()
    read_log(folder, SESSION)
    return time.process_time() - started


async def one_turn() -> int:
    """Bytes of the log of one question and one answer of 150 characters, its session included."""
    clock, seen = SystemClock(), list[Event]()
    relay = Relay(ScriptedUpstream(), KeyPool(["local"]), MemoryStore(clock.now), clock, Patience())
    deps = AgentDeps(relay, clock, lambda: SESSION, on_event=seen.append)
    session = create_agent_session(deps, AgentOptions("scripted", system_prompt="Be kind."))
    await session.run_turn("What is Kefu, and who is it for?")
    await session.close()
    return sum(len(event_line(e)) for e in seen if e.type != "assistant_chunk")


def parse_ms(text: str) -> float:
    started = time.process_time()
    parse(text)
    return 1000 * (time.process_time() - started)


def history(count: int) -> str:
    with tempfile.TemporaryDirectory(prefix="kefu-history-") as name:
        spent = append_times(Path(name), count)
        reading = read_seconds(Path(name))
    size = asyncio.run(one_turn())
    bomb = '<action tool="a">' * (PARSED // 17)
    wall, processor = zip(*spent, strict=True)
    rows = [
        ("a line is appended, median", f"{_micro(wall, 50)} µs"),
        ("  p99 (at most 100 µs where nothing else runs)", f"{_micro(wall, 99)} µs"),
        ("  p99 of the processor's time", f"{_micro(processor, 99)} µs"),
        (f"{count} lines are read (processor)", f"{1000 * reading:.0f} ms"),
        ("the log of one turn (at most 3072 bytes)", f"{size} bytes"),
        ("200,000 characters of open actions are read", f"{parse_ms(bomb):.1f} ms"),
    ]
    return "\n".join(f"{title:54}{value:>18}" for title, value in rows)


def _micro(seconds: Sequence[float], percent: int) -> int:
    return round(1e6 * quantiles(seconds, n=100)[percent - 1])
