"""Runs benchmarks: `python -m benchmarks [NAME ...] [--quick] [--json FILE]`.

The contenders take turns (A B A B ...), so that a machine that slows down affects all of them. Each
value is the median of its repetitions, with its ratio to that of the bare passthrough.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import relay
from benchmarks.chats import chats
from benchmarks.cold import PEER as COLD_PEER
from benchmarks.cold import NoPython, cold_starts
from benchmarks.contenders import BASELINE, KEFU, KEFU_MEMORY, PEER, Contender
from benchmarks.context import context
from benchmarks.context import table as context_table
from benchmarks.engines import engines
from benchmarks.imports import PEER as IMPORT_PEER
from benchmarks.imports import imports
from benchmarks.insights import panel
from benchmarks.knowledge import knowledge
from benchmarks.processes import ROOT, Load, Server, raise_file_limit
from benchmarks.queues import queues
from benchmarks.report import save, table
from benchmarks.sizes import sizes
from benchmarks.soak import soak
from benchmarks.terminal import PEER as TERMINAL_PEER
from benchmarks.terminal import terminal
from benchmarks.tokens import tokens
from benchmarks.units import units
from benchmarks.widget import NoBrowser, widget
from benchmarks.widget import table as widget_table

NAMES = {
    "relay": "Kefu, everything on, against a bare passthrough: time, throughput, CPU, memory",
    "thousand": "1,000 streams at once: none lost, memory a stream, gaps",
    "imports": "import time of the service beside FastAPI's, and of kefu.context alone",
    "terminal": "start of `kefu --version` and first prompt of `kefu chat` beside bare Python",
    "cold": "cold start of the package for Lambda against the shape of AWS's sample",
    "units": "DynamoDB read and write units a chat (needs DynamoDB Local: make parts)",
    "chats": "keeping a chat: SQLite's time, DynamoDB's units, the end of a long one",
    "engines": "kept turns in SQLite beside PostgreSQL, and with a million chats (make parts)",
    "context": "the context engine beside langchain-core and llama-index (after make peers)",
    "tokens": "token counters: time, and how far estimates are off, by kind of text",
    "insights": "the panel's insights and search over 100,000 chats in SQLite",
    "queues": "the filters of the panel's list over a million chats in SQLite",
    "knowledge": "learning and finding pages, beside FTS5's tokenizer and bm25s (make peers)",
    "widget": "the widget in Chromium, beside deep-chat after make peers (needs Chromium)",
    "sizes": "cold starts by the memory of a function of Lambda (not by default; needs root)",
    "soak": "kept chats under load: nothing lost, memory and descriptors flat (not by default)",
}

APART = {
    "chats",
    "cold",
    "context",
    "engines",
    "imports",
    "insights",
    "knowledge",
    "queues",
    "sizes",
    "soak",
    "terminal",
    "tokens",
    "units",
    "widget",
}
"""What needs no load and no mock model."""


@dataclass(frozen=True)
class Effort:
    rounds: int
    chunks: int
    seconds: float
    thousand_rounds: int
    thousand_peer_rounds: int
    import_rounds: int
    cold_rounds: int
    context_rounds: int


FULL = Effort(
    rounds=5,
    chunks=2000,
    seconds=4,
    thousand_rounds=3,
    thousand_peer_rounds=1,
    import_rounds=31,
    cold_rounds=10,
    context_rounds=3,
)
QUICK = Effort(
    rounds=2,
    chunks=400,
    seconds=2,
    thousand_rounds=1,
    thousand_peer_rounds=0,
    import_rounds=5,
    cold_rounds=2,
    context_rounds=1,
)


def compare(bench: relay.Bench, contenders: Sequence[Contender], effort: Effort) -> None:
    with bench.serving(contenders) as doors:
        relay.warm(bench, doors)
        relay.first_chunk(bench, doors, effort.rounds + 2)
        relay.saturation(bench, doors, max(2, effort.rounds - 2), effort.chunks)
        relay.paced(bench, doors, max(1, effort.rounds - 2), effort.seconds)
        relay.resident(bench, doors)


def measure(names: Sequence[str], effort: Effort) -> dict[str, relay.Row]:
    raise_file_limit()
    with tempfile.TemporaryDirectory(prefix="kefu-bench-") as folder:
        command = [sys.executable, "-m", "benchmarks.upstream"]
        upstream, load = Server(command, {}, Path(folder, "upstream.log")), Load()
        bench = relay.Bench(Path(folder), upstream, load)
        try:
            if "relay" in names:
                compare(bench, [BASELINE, KEFU, KEFU_MEMORY], effort)
            if "thousand" in names:
                relay.thousand(bench, [KEFU], effort.thousand_rounds, 5)
                # httpx's connection pool searches all connections at every step: 40 s, against 8 s
                # of Kefu.
                relay.thousand(bench, [BASELINE], effort.thousand_peer_rounds, 5)
        finally:
            load.stop()
            upstream.stop()
    return bench.rows


def main() -> int:
    lines = "\n".join(f"  {name:9} {text}" for name, text in NAMES.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=lines,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *NAMES])
    parser.add_argument("--quick", action="store_true", help="under a minute, rougher")
    parser.add_argument("--minutes", type=float, default=20, help="of `soak` (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="default: benchmarks/results/")
    arguments = parser.parse_args()
    names = arguments.names or [name for name in NAMES if name not in ("sizes", "soak")]
    effort = QUICK if arguments.quick else FULL
    rows, tables = measured(names, effort)
    if "soak" in names:
        rows["soak"], text = soak(arguments.minutes)
        tables.append(text)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    save(rows, arguments.json or ROOT / f"benchmarks/results/{stamp}.json")
    print("\n\n".join(tables))
    lost = sum(
        sum(row.get("lost", []) + row.get("missing", []) + row.get("doubled", []))
        for row in rows.values()
    )
    return 1 if lost else 0


def measured(names: Sequence[str], effort: Effort) -> tuple[dict[str, relay.Row], list[str]]:
    rows: dict[str, relay.Row] = {}
    tables = []
    if set(names) - APART:
        rows |= measure(names, effort)
        tables.append(table(rows, PEER))
    if "imports" in names:
        seen = imports(effort.import_rounds)
        rows |= seen
        tables.append(table(seen, IMPORT_PEER))
    if "terminal" in names:
        seen = terminal(effort.import_rounds)
        rows |= seen
        tables.append(table(seen, TERMINAL_PEER))
    if "cold" in names:
        tables.append(cold(effort, rows))
    if "context" in names:
        seen = context(effort.context_rounds, quick=effort is QUICK)
        rows |= {f"context: {name}": row for name, row in seen.items()}
        tables.append(context_table(seen))
    if "widget" in names:
        tables.append(page(effort, rows))
    told: dict[str, Callable[[], str]] = {
        "units": units,
        "chats": lambda: chats(100 if effort is FULL else 20),
        "engines": lambda: engines(*(300, 1_000_000) if effort is FULL else (40, 5_000)),
        "insights": lambda: panel(100_000 if effort is FULL else 2_000),
        "sizes": lambda: sizes(7 if effort is FULL else 1),
        "queues": lambda: queues(1_000_000 if effort is FULL else 20_000),
        "tokens": lambda: tokens(effort.rounds),
        "knowledge": lambda: knowledge(50_000 if effort is FULL else 1_000),
    }
    tables += [told[name]() for name in told if name in names]
    return rows, tables


def cold(effort: Effort, rows: dict[str, relay.Row]) -> str:
    with tempfile.TemporaryDirectory(prefix="kefu-cold-") as folder:
        try:
            seen = cold_starts(Path(folder), effort.cold_rounds)
        except NoPython as reason:
            return str(reason)
    rows |= {f"cold: {name}": row for name, row in seen.items()}
    return table(seen, COLD_PEER)


def page(effort: Effort, rows: dict[str, relay.Row]) -> str:
    try:
        seen = widget(max(1, effort.rounds - 2), quick=effort is QUICK)
    except NoBrowser as reason:
        return str(reason)
    rows |= seen
    return widget_table(seen)


if __name__ == "__main__":
    sys.exit(main())
