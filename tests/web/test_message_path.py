"""How much code one message passes. A change that needs more of it says so here.

`python -m benchmarks.message_path stored` prints the modules with their functions and calls.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CEILINGS = {
    "stateless": {"modules": 42, "functions": 209, "calls": 1400, "tasks": 4},
    "stored": {"modules": 65, "functions": 380, "calls": 2050, "tasks": 7},
}
"""Of thirty chunks, with Python 3.11; later versions have fewer functions and calls. The number of
calls varies by some, as chunks may arrive together.
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", CEILINGS)
def test_a_message_passes_no_more_code_than_it_did(kind: str) -> None:
    ours = ("KEFU_", "LONGCAT_")
    environment = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
    command = [sys.executable, "-m", "benchmarks.message_path", kind, "--json"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    figures: dict[str, int] = json.loads(done.stdout)
    assert figures.keys() == CEILINGS[kind].keys()
    above = {name: found for name, found in figures.items() if found > CEILINGS[kind][name]}
    assert above == {}
    # A trace that stops to see the code would pass each ceiling.
    below = {name: found for name, found in figures.items() if found < CEILINGS[kind][name] / 2}
    assert below == {}
