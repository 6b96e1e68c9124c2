"""A long load: visitors write, leave and delete chats, while memory and descriptors are measured.

Stored chats are read back. A question whose answer was complete must be stored exactly once.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from uuid import uuid4

import aiohttp

from benchmarks.contenders import served
from benchmarks.processes import Server, raise_file_limit, resident_bytes
from benchmarks.relay import Row

VISITORS = 24
TURNS = 5
PLAY = "bench:paced:10:40"
"""What the mock model plays: ten chunks in 0.4 s."""
EVERY = 5.0
"""Seconds between two looks at memory and descriptors."""


@dataclass
class Run:
    url: str
    until: float
    answers: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    doubled: int = 0
    waits: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    descriptors: list[float] = field(default_factory=list)


def soak(minutes: float) -> tuple[Row, str]:
    raise_file_limit()
    with tempfile.TemporaryDirectory(prefix="kefu-soak-") as folder:
        model = Server(
            [sys.executable, "-m", "benchmarks.upstream"], {}, Path(folder, "upstream.log")
        )
        settings = {
            "KEFU_UPSTREAM_URL": f"http://127.0.0.1:{model.port}/v1",
            "LONGCAT_API_KEYS": "sk-bench",
            "KEFU_STORE": f"sqlite:///{folder}/soak.sqlite3",
            "KEFU_DAILY_TOKENS": "1000000000000",
            "KEFU_IP_REQUESTS_PER_MINUTE": "0",
            "KEFU_LOG_LEVEL": "WARNING",
        }
        kefu = Server(served(session_requests_per_minute=0), settings, Path(folder, "kefu.log"))
        try:
            run = Run(f"http://127.0.0.1:{kefu.port}", time.monotonic() + 60 * minutes)
            asyncio.run(_visit(run, kefu.pid))
            log = kefu.log.read_text()
        finally:
            kefu.stop()
            model.stop()
    return _row(run), _table(run, minutes, log.count("store degraded"), log.count("Traceback"))


async def _visit(run: Run, pid: int) -> None:
    watching = asyncio.create_task(_watch(run, pid))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(_visitor(run, session) for _ in range(VISITORS)))
    watching.cancel()


async def _watch(run: Run, pid: int) -> None:
    while True:
        await asyncio.sleep(EVERY)
        run.memory.append(resident_bytes(pid) / 1e6)
        run.descriptors.append(_open_files(pid))


def _open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


async def _visitor(run: Run, session: aiohttp.ClientSession) -> None:
    while time.monotonic() < run.until:
        await _chat(run, session)


async def _chat(run: Run, session: aiohttp.ClientSession) -> None:
    """Run a stored chat of several turns. One visitor in ten leaves during an answer, one in ten
    deletes.
    """
    fate, asked = random.random(), list[str]()
    access: dict[str, str] = {}
    for turn in range(TURNS):
        question = f"{uuid4().hex} {PLAY}"
        body = {"message": question, "client_message_id": uuid4().hex}
        if access:
            body["session_id"] = access["X-Session-Id"]
        leaves = fate < 0.1 and turn == TURNS - 1
        if not await _ask(run, session, body, access, leaves=leaves):
            break
        asked.append(question)
    if not access:
        return
    url = f"{run.url}/api/sessions/{access['X-Session-Id']}"
    headers = {"X-Session-Token": access["X-Session-Token"]}
    async with session.get(f"{url}/messages?limit=100", headers=headers) as response:
        found = await response.json()
        run.answers[f"read {response.status}"] += 1
    if response.status == 200:
        kept = Counter(m["content"] for m in found["messages"] if m["role"] == "user")
        run.lost += sum(question not in kept for question in asked)
        run.doubled += sum(times - 1 for times in kept.values())
    if 0.1 <= fate < 0.2:
        async with session.delete(url, headers=headers) as response:
            run.answers[f"delete {response.status}"] += 1


async def _ask(
    run: Run,
    session: aiohttp.ClientSession,
    body: dict[str, str],
    access: dict[str, str],
    *,
    leaves: bool,
) -> bool:
    """Send a question. Returns whether the answer was complete. The first answer fills `access`."""
    headers = {"X-Session-Token": access["X-Session-Token"]} if access else {}
    started = time.perf_counter()
    async with session.post(f"{run.url}/api/chat", json=body, headers=headers) as response:
        if response.status != 200:
            run.answers[f"chat {response.status}"] += 1
            return False
        access.update(
            {name: response.headers[name] for name in ("X-Session-Id", "X-Session-Token")}
        )
        await response.content.readline()
        run.waits.append(time.perf_counter() - started)
        if leaves:
            run.answers["left"] += 1
            response.close()
            return False
        whole = b"[DONE]" in await response.read()
        run.answers["whole" if whole else "broken"] += 1
        return whole


def _halves(values: list[float]) -> tuple[float, float]:
    """The means of the second and the last quarter: the values settle in the first minutes."""
    quarter = max(1, len(values) // 4)
    return mean(values[quarter : 2 * quarter] or values), mean(values[-quarter:])


def _row(run: Run) -> Row:
    return {"lost": [run.lost], "doubled": [run.doubled], "memory MB": run.memory}


def _table(run: Run, minutes: float, degraded: int, crashes: int) -> str:
    waits = sorted(run.waits)
    memory, descriptors = _halves(run.memory), _halves(run.descriptors)
    lines = (
        f"soak, {minutes:g} minutes: {sum(run.answers.values())} requests",
        f"{dict(sorted(run.answers.items()))}",
        f"lost {run.lost}, doubled {run.doubled}, degraded {degraded}, crashes {crashes}",
        f"first event: p50 {1000 * waits[len(waits) // 2]:.0f} ms",
        f"first event: p99 {1000 * waits[int(0.99 * len(waits))]:.0f} ms",
        "second quarter -> last quarter:",
        f"memory {memory[0]:.1f} -> {memory[1]:.1f} MB",
        f"descriptors {descriptors[0]:.0f} -> {descriptors[1]:.0f}",
    )
    return "\n  ".join(lines)
