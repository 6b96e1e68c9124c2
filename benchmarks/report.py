"""Formats the results of a run as a table and as JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.relay import Row


@dataclass(frozen=True)
class Figure:
    key: str
    title: str
    digits: int = 1


FIGURES = (
    Figure("first_chunk_ms", "added time to first chunk, ms", 2),
    Figure("first_chunk_20_ms", "the same, 20 asking at once, ms"),
    Figure("chunks_per_s", "50 streams flat out, chunks/s (more is better)", 0),
    Figure("cpu_ms_per_1000", "CPU per 1,000 chunks at 100 x 30/s, ms"),
    Figure("gap_p99_ms", "  gap between chunks there, p99, ms (sent every 33)"),
    Figure("rss_mib", "memory after that load, MiB"),
    Figure("kb_per_stream", "1,000 streams: memory a stream, KB"),
    Figure("gap_p99_1000_ms", "  gap between chunks there, p99, ms (sent every 1000)", 0),
    Figure("import_ms", "import, ms"),
    Figure("import_cpu_ms", "  the processor's part of it, ms"),
    Figure("start_ms", "process start to its end or its prompt, ms", 0),
    Figure("cold_ms", "process start to an answer of /health, ms", 0),
    Figure("cold_cpu_ms", "  the processor's part of it, ms", 0),
    Figure("event_ms", "process start to the first event's answer, ms", 0),
    Figure("lost", "streams lost, all runs together", 0),
    Figure("missing", "chunks missing, all runs together", 0),
)
SUMS = {"lost", "missing"}


def medians(rows: Mapping[str, Row]) -> dict[str, dict[str, float]]:
    return {
        name: {key: sum(v) if key in SUMS else median(v) for key, v in row.items()}
        for name, row in rows.items()
    }


def table(rows: Mapping[str, Row], peer: str) -> str:
    """A row for each figure and a column for each contender; values have their ratio to the
    peer's.
    """
    values = medians(rows)
    names = sorted(values, key=lambda name: name != peer)
    width = max(18, *(len(name) + 2 for name in names))
    lines = [" " * 54 + "".join(name.rjust(width) for name in names)]
    for figure in FIGURES:
        if any(figure.key in values[name] for name in names):
            base = values.get(peer, {}).get(figure.key, 0.0)
            cells = (cell(values[name].get(figure.key), base, figure) for name in names)
            lines.append(figure.title.ljust(54) + "".join(c.rjust(width) for c in cells))
    return "\n".join(line.rstrip() for line in lines)


def cell(value: float | None, base: float, figure: Figure) -> str:
    if value is None:
        return "-"
    shown = f"{value:,.{figure.digits}f}"
    if figure.key in SUMS:
        return shown
    return f"{shown} {value / base:6.2f}x" if base > 0 else f"{shown}        "


def save(rows: Mapping[str, Row], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    machine = {"python": platform.python_version(), "cpus": os.cpu_count()}
    content = {"machine": machine, "medians": medians(rows), "repetitions": rows}
    path.write_text(json.dumps(content, indent=1) + "\n")
