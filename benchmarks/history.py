"""The log of a chat on the terminal: what a line costs the chat, and how large a turn is."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles

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


def append_times(folder: Path, count: int) -> list[float]:
    """Seconds of each line of a chat, an answer of 900 characters in each."""
    sink = JsonlHistorySink(folder, SESSION)
    tokens = Tokens(1200, 210, "usage")
    body = Assistant(ANSWER, tokens=tokens, model="m", finish_reason="stop", latency_ms=900)
    spent = []
    for number in range(1, count + 1):
        event = Event(1_760_000_000.0 + number, SESSION, number, body, 1, number)
        started = time.perf_counter()
        sink.append(event)
        spent.append(time.perf_counter() - started)
    sink.close()
    return spent


def read_seconds(folder: Path) -> float:
    started = time.perf_counter()
    read_log(folder, SESSION)
    return time.perf_counter() - started


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
    rows = [
        ("a line is appended, median", f"{1e6 * _percentile(spent, 50):.0f} µs"),
        ("                    p99 (at most 100 µs)", f"{1e6 * _percentile(spent, 99):.0f} µs"),
        (f"{count} lines are read", f"{1000 * reading:.0f} ms"),
        ("the log of one turn (at most 3072 bytes)", f"{size} bytes"),
        ("200,000 characters of open actions are read", f"{parse_ms(bomb):.1f} ms"),
    ]
    return "\n".join(f"{title:54}{value:>18}" for title, value in rows)


def _percentile(values: Sequence[float], percent: int) -> float:
    return quantiles(values, n=100)[percent - 1]
