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
import {module}
foreign = {{name.partition(".")[0] for name in sys.modules}} - set(sys.stdlib_module_names)
print(*sorted(foreign - {{"__main__", "kefu"}}))
"""


@pytest.mark.parametrize("module", ["kefu.context", "kefu.tokens", "kefu.messages"])
def test_the_library_needs_the_standard_library_alone(module: str) -> None:
    """X20."""
    program = PROGRAM.format(functions=str(FUNCTIONS), module=module)
    child = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False
    )
    assert (child.returncode, child.stdout, child.stderr) == (0, "\n", "")


def test_importing_the_context_loads_nothing_of_the_service() -> None:
    """X20: nor anything that reads the environment, the network or a clock's time zone."""
    program = (
        f"import sys; sys.path.append({str(FUNCTIONS)!r}); import kefu.context; print(*sys.modules)"
    )
    child = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(child.stdout.split())
    allowed = {"kefu.context", "kefu.errors", "kefu.messages", "kefu.tokens"}
    ours = {".".join(name.split(".")[:2]) for name in loaded if name.startswith("kefu.")}
    assert ours == allowed
    assert not loaded & {"asyncio", "socket", "ssl", "logging", "json", "sqlite3"}
    # They would take as long as all the rest.
    assert not loaded & {"dataclasses", "inspect"}
