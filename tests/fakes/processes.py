"""Lists processes (Linux)."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path


def alive(process: int) -> bool:
    """The running processes among these; those that ended and were not waited for do not count."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in ("Z", "X")


def all_end(processes: Iterable[int], within: float = 10.0) -> bool:
    deadline = time.monotonic() + within
    left = list(processes)
    while left and time.monotonic() < deadline:
        left = [process for process in left if alive(process)]
        time.sleep(0.02)
    return not left


def children_of(process: int) -> list[int]:
    return [int(n) for n in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def noted(folder: Path, within: float = 20.0) -> list[int]:
    """The process ids that a tool of `tests.fakes.endless` writes. Waits until the tool runs."""
    deadline = time.monotonic() + within
    while not (folder / "pids").exists():
        assert time.monotonic() < deadline, "the tool was not called"
        time.sleep(0.02)
    return [int(number) for number in (folder / "pids").read_text().split()]
