"""The command line starts with few modules: the others of a command load when it runs."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from kefu.__main__ import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
{then}
print(*sys.modules)
"""

START = {"__main__", "cli", "errors", "terminal", "terminal.flags", "terminal.pipes"}
ARGUMENTS = {
    *("parser", "arguments", "answer_arguments", "page_arguments", "service_arguments"),
    "tool_arguments",
}
PROMPT = {"agent", "agent.ids", "bootstrap", "bootstrap.clock"}
SLOW = {"httpx", "pydantic", "rich", "sqlite3", "kefu.agent.events", "kefu.settings"}


def loaded(then: str = "") -> set[str]:
    command = [sys.executable, "-c", PROGRAM.format(then=then), "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    version, modules = done.stdout.splitlines()
    assert version.startswith("kefu ")
    return set(modules.split())


def test_the_version_loads_the_definitions_of_arguments_alone() -> None:
    ours = {name for name in loaded() if name.startswith("kefu.")}
    expected = START | {f"cli.{name}" for name in ARGUMENTS}
    assert ours <= {f"kefu.{name}" for name in expected}


def test_the_prompt_loads_before_the_agent_its_model_and_the_settings() -> None:
    """S5: the prompt appears at once. `kefu.terminal.backend` is imported while the user types."""
    modules = loaded("import kefu.cli.chat, kefu.terminal.prompt")
    assert not modules & SLOW
    ours = {name.removeprefix("kefu.") for name in modules if name.startswith("kefu.")}
    assert {name for name in ours if not name.startswith(("cli.", "terminal."))} - START == PROMPT
