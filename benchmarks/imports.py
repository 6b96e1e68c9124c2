"""How long the service takes to import, most of a cold start; and how long the library alone."""

from __future__ import annotations

import os
import subprocess
import sys

from benchmarks.processes import ROOT
from benchmarks.relay import Row

PROGRAM = """
import sys
from time import perf_counter
sys.path.append({functions!r})
start = perf_counter()
import {module}
print(perf_counter() - start)
"""
PEER = "fastapi"

# The library stands beside a module that most programs import anyway, both in an interpreter that
# has loaded nothing else: what is in site-packages may load either of them at the start.
BARE = ("-I", "-S")
MODULES: dict[str, tuple[str, ...]] = {
    PEER: (),
    "kefu.asgi": (),
    "typing": BARE,
    "kefu.context": BARE,
}


def import_ms(module: str) -> float:
    """In a fresh interpreter, without the interpreter's own start."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("KEFU_", "LONGCAT_"))}
    env |= {"LONGCAT_API_KEYS": "sk-bench", "KEFU_STORE": "memory:"}
    program = PROGRAM.format(functions=str(ROOT / "functions"), module=module)
    command = [sys.executable, *MODULES[module], "-c", program]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return 1000 * float(done.stdout.splitlines()[-1])


def imports(rounds: int) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for module in MODULES:
        import_ms(module)  # writes the .pyc
        rows[module] = {"import_ms": []}
    for _ in range(rounds):
        for module, row in rows.items():
            row["import_ms"].append(import_ms(module))
    return rows
