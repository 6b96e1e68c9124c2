"""The terminal chat: until its version and its prompt are there, and how soon Ctrl-C is heard.

At a real pseudo-terminal, against a scripted model. Beside it stands what an empty interpreter and
prompt_toolkit alone take.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.cli.pseudo_terminal import PseudoTerminal
from tests.fakes.behaviours import stall_after
from tests.fakes.upstream import ScriptedUpstream


def terminal(rounds: int) -> str:
    with ScriptedUpstream() as upstream, tempfile.TemporaryDirectory() as folder:
        upstream.script("*", stall_after(2))
        environment = {
            "HOME": folder,
            "PATH": os.defpath,
            "KEFU_UPSTREAM_URL": upstream.base_url,
            "LONGCAT_API_KEYS": "sk-bench",
        }
        measured: dict[str, Callable[[], float]] = {
            "python -c pass": lambda: _run("-c", "pass"),
            "import prompt_toolkit": lambda: _run("-c", "import prompt_toolkit"),
            "kefu --version": lambda: _run("-m", "kefu", "--version"),
            "kefu chat, to its prompt": lambda: _chat(environment, Path(folder))[0],
            "Ctrl-C in an answer, to the prompt": lambda: _chat(environment, Path(folder))[1],
        }
        lines = ["| the terminal chat | median | worst |", "|---|---|---|"]
        for name, measure in measured.items():
            measure()  # writes the .pyc
            times = [1000 * measure() for _ in range(rounds)]
            lines.append(f"| {name} | {statistics.median(times):.0f} ms | {max(times):.0f} ms |")
    return "\n".join(lines)


def _run(*arguments: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def _chat(environment: dict[str, str], folder: Path) -> tuple[float, float]:
    """Seconds to the prompt, and from Ctrl-C to the next one."""
    started = time.perf_counter()
    with PseudoTerminal(["chat", "--no-log"], environment, folder) as screen:
        screen.prompted()
        prompt = time.perf_counter() - started
        screen.type("go on\r")
        screen.until("piece1")
        pressed = time.perf_counter()
        screen.type("\x03")
        screen.prompted()
        return prompt, time.perf_counter() - pressed
