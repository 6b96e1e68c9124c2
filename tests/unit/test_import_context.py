from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kefu

FUNCTIONS = Path(kefu.__file__).parents[1]

# Alone with the standard library: no site-packages, no environment, no working directory.
PROGRAM = """
import sys
sys.path.append({functions!r})
before = set(sys.modules)
import {module}
print(*sorted(sys.modules.keys() - before))
"""

CHEAP = {
    *("__future__", "_collections_abc", "array", "bisect", "collections", "collections.abc"),
    *("itertools", "keyword", "operator", "reprlib"),
    *("_bisect", "_collections", "_operator"),  # the C halves of these
}
"""Of the standard library. `typing`, `re`, `dataclasses` or `inspect` would each take as long as
half of all this, or longer."""


def loaded_by(module: str) -> set[str]:
    program = PROGRAM.format(functions=str(FUNCTIONS), module=module)
    command = [sys.executable, "-I", "-S", "-c", program]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (child.returncode, child.stderr) == (0, "")
    return set(child.stdout.split())


@pytest.mark.parametrize("module", ["kefu.context", "kefu.tokens", "kefu.messages"])
def test_the_library_loads_a_few_cheap_modules_of_the_standard_library_alone(module: str) -> None:
    """X20: what takes no more than 15 ms; `python -m benchmarks imports` measures it."""
    loaded = loaded_by(module)
    assert {name for name in loaded if name.partition(".")[0] != "kefu"} <= CHEAP


def test_importing_the_context_loads_nothing_of_the_service() -> None:
    """X20: nor the exact counters."""
    ours = {name for name in loaded_by("kefu.context") if name.startswith("kefu.")}
    allowed = {"context", "errors", "lean_typing", "messages", "tokens"}
    assert {name.split(".")[1] for name in ours} == allowed
    assert "kefu.tokens.bpe" not in ours
