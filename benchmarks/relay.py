"""The figures of a relay: latency, throughput, processor time and memory."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.contenders import Contender
from benchmarks.load import Figures, Job
from benchmarks.processes import Load, Server, cpu_seconds, resident_bytes
from benchmarks.upstream import OVERHEAD

Row = dict[str, list[float]]
"""Figure -> its repetitions."""


@dataclass
class Bench:
    """The processes of one run: the upstream, the load generator and the contenders' servers."""

    folder: Path
    upstream: Server
    load: Load
    rows: dict[str, Row] = field(default_factory=dict)

    @property
    def upstream_url(self) -> str:
        return f"http://127.0.0.1:{self.upstream.port}/v1"

    def note(self, name: str, **figures: float) -> None:
        row = self.rows.setdefault(name, {})
        for figure, value in figures.items():
            row.setdefault(figure, []).append(value)

    @contextmanager
    def serving(self, contenders: Sequence[Contender]) -> Iterator[list[tuple[Contender, Server]]]:
        with ExitStack() as stack:
            pairs = []
            for contender in contenders:
                server = contender.start(self.upstream_url, self.folder)
                stack.callback(server.stop)
                pairs.append((contender, server))
            yield pairs

    def ask(
        self,
        door: tuple[Contender, Server] | None,
        message: str,
        *,
        streams: int = 1,
        requests: int = 1,
        ramp: float = 0.0,
        gaps: bool = False,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> Figures:
        """Run a load. `door`: the contender and its server; None: the upstream itself."""
        job = Job(
            port=door[1].port if door else self.upstream.port,
            path=door[0].path if door else "/v1/chat/completions",
            message=message,
            streams=streams,
            requests=requests,
            ramp=ramp,
            gaps=gaps,
            timeout=90,
        )
        seen = self.load.run(job, meanwhile)
        if seen["lost"]:
            who = door[0].name if door else "upstream"
            print(f"{who}: {seen['lost']} lost, {seen['problem']!r}", file=sys.stderr)
        return seen


Doors = Sequence[tuple[Contender, Server]]


def warm(bench: Bench, doors: Doors) -> None:
    for door in doors:
        figures = bench.ask(door, "bench:flat:20", streams=20, requests=5)
        if figures["lost"]:
            raise RuntimeError(f"{door[0].name} does not answer: {figures['problem']}")


def first_chunk(bench: Bench, doors: Doors, rounds: int, requests: int = 60) -> None:
    """Measure the added time to the first chunk; each round also asks the upstream directly."""
    for streams, figure in ((1, "first_chunk_ms"), (20, "first_chunk_20_ms")):
        for _ in range(rounds):
            full = requests if streams == 1 else max(5, requests // 4)
            direct = bench.ask(None, "bench:flat:3", streams=streams, requests=full)
            for door in doors:
                seen = bench.ask(door, "bench:flat:3", streams=streams, requests=full)
                bench.note(door[0].name, lost=seen["lost"])
                if seen["first"]:
                    added = seen["first"]["p50"] - direct["first"]["p50"]
                    bench.note(door[0].name, **{figure: added})


def saturation(bench: Bench, doors: Doors, rounds: int, chunks: int, streams: int = 50) -> None:
    """Measure the chunks per second if only the server limits them."""
    for _ in range(rounds):
        for door in doors:
            seen = bench.ask(door, f"bench:flat:{chunks}", streams=streams)
            missing = streams * (chunks + OVERHEAD) - seen["events"]
            rate = seen["events"] / seen["elapsed"]
            bench.note(door[0].name, chunks_per_s=rate, lost=seen["lost"], missing=missing)


def paced(bench: Bench, doors: Doors, rounds: int, seconds: float, streams: int = 100) -> None:
    """Measure processor time and gaps between chunks at a usual load, 30 chunks a second per
    stream.
    """
    chunks = int(seconds * 30)
    for _ in range(rounds):
        for door in doors:
            before = cpu_seconds(door[1].pid)
            message = f"bench:paced:{chunks}:33"
            seen = bench.ask(door, message, streams=streams, ramp=0.5, gaps=True)
            cpu = 1000 * (cpu_seconds(door[1].pid) - before) / max(1, seen["events"] / 1000)
            bench.note(
                door[0].name,
                cpu_ms_per_1000=cpu,
                gap_p99_ms=seen["gap"].get("p99", 0.0),
                lost=seen["lost"],
                missing=streams * (chunks + OVERHEAD) - seen["events"],
            )


def resident(bench: Bench, doors: Doors) -> None:
    """Measure the memory that a server still has two seconds after the load."""
    time.sleep(2)
    for door in doors:
        bench.note(door[0].name, rss_mib=resident_bytes(door[1].pid) / 2**20)


def thousand(
    bench: Bench, contenders: Sequence[Contender], rounds: int, seconds: int, streams: int = 1000
) -> None:
    """Measure 1,000 slow streams at once. New processes, because memory that is in use would not
    grow.
    """
    for _ in range(rounds):
        for contender in contenders:
            with bench.serving([contender]) as doors:
                warm(bench, doors)
                seen, growth = held(bench, doors[0], f"bench:paced:{seconds}:1000", streams)
            bench.note(
                contender.name,
                kb_per_stream=growth / 1000 / streams,
                gap_p99_1000_ms=seen["gap"].get("p99", 0.0),
                lost=seen["lost"],
                missing=streams * (seconds + OVERHEAD) - seen["events"],
            )


def held(
    bench: Bench, door: tuple[Contender, Server], message: str, streams: int
) -> tuple[Figures, int]:
    """The figures of the load, and the growth of the server's memory in bytes."""
    pid = door[1].pid
    time.sleep(0.5)
    sizes = [resident_bytes(pid)]
    seen = bench.ask(
        door,
        message,
        streams=streams,
        ramp=2.0,
        gaps=True,
        meanwhile=lambda: sizes.append(resident_bytes(pid)),
    )
    return seen, max(sizes) - sizes[0]
