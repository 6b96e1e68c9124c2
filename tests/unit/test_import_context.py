from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kefu

FUNCTIONS = Path(kefu.__file__).parents[1]

# Prints the imported modules. -I -S: no site-packages, environment or working directory.
PROGRAM = """
import sys
sys.path.append({functions!r})
before = set(sys.modules)
import {module}
print(*sorted(sys.modules.keys() - before))
"""

HEAVY = {"asyncio", "dataclasses", "email", "http", "inspect", "json", "logging", "ssl", "tokenize"}
"""Of the standard library. Each would take as long as the whole library, or longer."""


def loaded_by(module: str) -> set[str]:
    program = PROGRAM.format(functions=str(FUNCTIONS), module=module)
    command = [sys.executable, "-I", "-S", "-c", program]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (child.returncode, child.stderr) == (0, "")
    return set(child.stdout.split())


@pytest.mark.parametrize("module", ["kefu.context", "kefu.context.tokens", "kefu.messages"])
def test_the_library_imports_light_modules_of_the_standard_library_alone(module: str) -> None:
    """X20: no third-party packages, so that it takes about 15 ms: `python -m benchmarks
    imports`.
    """
    loaded = {name.partition(".")[0] for name in loaded_by(module)} - {"kefu"}
    assert loaded <= sys.stdlib_module_names
    assert loaded & HEAVY == set()


def test_importing_the_context_loads_nothing_of_the_service() -> None:
    """X20: this includes the exact counters."""
    ours = {name for name in loaded_by("kefu.context") if name.startswith("kefu.")}
    allowed = {"context", "errors", "messages"}
    assert {name.split(".")[1] for name in ours} == allowed
    assert "kefu.context.tokens.bpe" not in ours
