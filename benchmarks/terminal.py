"""The start of the command line, beside that of Python: `kefu --version`, and the first prompt."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter

from benchmarks.relay import Row
from tests.cli.pseudo_terminal import PseudoTerminal

PEER = "python"


def terminal(rounds: int) -> dict[str, Row]:
    """Milliseconds from the start of the process to its end, or to the prompt."""
    with tempfile.TemporaryDirectory(prefix="kefu-bench-") as folder:
        subjects: dict[str, Callable[[], None]] = {
            PEER: partial(_run, "-c", "pass"),
            "--version": partial(_run, "-m", "kefu", "--version"),
            "prompt": partial(_first_prompt, Path(folder)),
        }
        rows: dict[str, Row] = {name: defaultdict(list) for name in subjects}
        for run in subjects.values():
            run()  # writes the .pyc files
        for _ in range(rounds):
            for name, run in subjects.items():
                rows[name]["start_ms"].append(_milliseconds(run))
    return rows


def _milliseconds(run: Callable[[], None]) -> float:
    start = perf_counter()
    run()
    return 1000 * (perf_counter() - start)


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)


def _first_prompt(folder: Path) -> None:
    environment = {"HOME": str(folder), "LONGCAT_API_KEYS": "sk-bench"}
    with PseudoTerminal(["chat", "--no-log"], environment, folder) as shown:
        shown.prompted()
