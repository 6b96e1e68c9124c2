"""Compares the context engine with the chat memories of langchain-core and llama-index."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from statistics import median

from benchmarks.processes import ROOT
from benchmarks.relay import Row

PEER = "langchain-core"
INSTALL = "langchain-core and llama-index are not installed; for their columns: make peers"
PEERS_PYTHON = ROOT / ".venv-peers/bin/python"

IMPORTS = {
    "kefu": "kefu.context",
    "langchain-core": "langchain_core.messages",
    "llama-index": "llama_index.core.memory",
}
IMPORT = "from time import perf_counter as t; a = t(); import {module}; print(1000 * (t() - a))"

FIGURES = {
    "trim_ms": ("trim 100,000 messages to 4,000 tokens (bytes / 4), ms", 3),
    "trim_exact_ms": ("the same with tiktoken's o200k_base, ms", 2),
    "trim_step_ms": ("  with trim_step=0.2 (bytes / 4), ms", 3),
    "trim_step_exact_ms": ("  the same with tiktoken, ms", 2),
    "trim_dicts_ms": ("  from dicts of OpenAI's API (bytes / 4), ms", 3),
    "trim_dicts_exact_ms": ("  the same with tiktoken, ms", 2),
    "trim_dicts_step_ms": ("  from dicts, with trim_step=0.2 (bytes / 4), ms", 3),
    "trim_dicts_step_exact_ms": ("  the same with tiktoken, ms", 2),
    "trim_keep_important_ms": ("  keep_important, which looks at all of them (bytes / 4), ms", 1),
    "trim_v1_ms": ("  v1, which does so, too, ms", 1),
    "window_ms": ("10,000 messages, 128,000 tokens: one more and the window, ms", 3),
    "window_p99_ms": ("  its 99th percentile, ms", 3),
    "window_pins_ms": ("  with 1,000 of them pinned, all of which fit, ms", 1),
    "memory_ratio": ("memory of 10,000 exactly counted messages, by their UTF-8 size", 2),
    "import_ms": ("import, ms", 1),
}

SAME_FOR_PEERS = ("step_", "dicts_")
"""What only Kefu offers is compared with a peer's trimming without it."""


def python_of(name: str) -> str:
    return sys.executable if name == "kefu" else str(PEERS_PYTHON)


def installed() -> list[str]:
    return [name for name in IMPORTS if name == "kefu" or PEERS_PYTHON.exists()]


def context(rounds: int, *, quick: bool) -> dict[str, Row]:
    """Run the contenders in turn, each time in a new process."""
    rows: dict[str, Row] = {name: {} for name in installed()}
    for _ in range(rounds):
        for name, row in rows.items():
            arguments = ["-m", "benchmarks.trials.context", name, *(["quick"] if quick else [])]
            figures: dict[str, float] = json.loads(_output(name, arguments))
            figures["import_ms"] = _import_ms(name)
            for key, value in figures.items():
                row.setdefault(key, []).append(value)
    return rows


def _import_ms(name: str) -> float:
    """The minimum of several runs: an import does the same work each time, so the rest is noise."""
    program = IMPORT.format(module=IMPORTS[name])
    return min(float(_output(name, ["-c", program])) for _ in range(5))


def _output(name: str, arguments: Sequence[str]) -> str:
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'functions'}{os.pathsep}{ROOT}"}
    command = [python_of(name), *arguments]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


def _of_peer(rows: dict[str, Row], key: str) -> float | None:
    for part in SAME_FOR_PEERS:
        key = key.replace(part, "")
    found = rows.get(PEER, {}).get(key)
    return median(found) if found else None


def table(rows: dict[str, Row]) -> str:
    """A table of the medians, with their ratios to the medians of `PEER`."""
    names = list(rows)
    lines = [" " * 66 + "".join(name.rjust(20) for name in names)]
    for key, (title, digits) in FIGURES.items():
        values = {name: median(rows[name][key]) for name in names if key in rows[name]}
        peer = _of_peer(rows, key)
        cells = []
        for name in names:
            cell = f"{values[name]:,.{digits}f}" if name in values else "-"
            if name != PEER and name in values and peer:
                cell += f" {values[name] / peer:7.2g}x"
            cells.append(cell.rjust(20))
        lines.append(title.ljust(66) + "".join(cells))
    missing = [] if len(rows) == len(IMPORTS) else [INSTALL]
    return "\n".join([line.rstrip() for line in lines] + missing)
