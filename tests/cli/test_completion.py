"""`kefu completion` prints scripts that shells accept and that complete what exists."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.cli.conftest import Kefu

COMPLETED = """
COMP_WORDS=(kefu {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_kefu; echo "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("te", "test"),
        ("sessions ex", "export"),
        ("test q.yaml --ju", "--junit --judge-model"),
        ("chat --tool", "--tools --tool-policy"),
    ],
)
def test_bash_completes_commands_and_flags(words: str, completed: str, kefu: Kefu) -> None:
    script = kefu("completion", "bash").out + COMPLETED.format(words=words)
    done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == sorted(completed.split())


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_accept_the_script(shell: str, kefu: Kefu) -> None:
    script = kefu("completion", shell).out
    assert "--judge-model" in script
    if path := shutil.which(shell):
        subprocess.run([path, "-n"], input=script, text=True, check=True)
