"""`kefu completion` prints scripts that complete the commands of `kefu` in real shells."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Kefu
from tests.cli.pseudo_terminal import PseudoTerminal

BASH = """
COMP_WORDS=(kefu {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_kefu; echo "${{COMPREPLY[@]}}"
"""

COMPLETED = [
    ("te", "test"),
    ("sessions ex", "export"),
    ("test q.yaml --ju", "--judge-model --junit"),
    ("chat --tool", "--tool-policy --tools"),
    ("completion z", "zsh"),
]

Installed = Callable[[str], str]


@pytest.fixture
def installed() -> Installed:
    def path(shell: str) -> str:
        found = shutil.which(shell)
        if found is None:
            pytest.skip(f"{shell} is not installed. Try: make parts")
        return found

    return path


@pytest.mark.parametrize(("words", "completed"), COMPLETED)
def test_bash_completes_commands_and_flags(words: str, completed: str, kefu: Kefu) -> None:
    script = kefu("completion", "bash").out + BASH.format(words=words)
    done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == completed.split()


def test_fish_completes_commands_flags_and_files(
    kefu: Kefu, folder: Path, installed: Installed
) -> None:
    (folder / "questions.yaml").touch()
    script = kefu("completion", "fish").out
    for words, completed in [*COMPLETED, ("test que", "questions.yaml")]:
        asked = f"{script}complete -C 'kefu {words}'"
        command = [installed("fish"), "--no-config", "-c", asked]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert sorted(done.stdout.split()) == completed.split(), done.stderr


@pytest.mark.parametrize("first", ["", "autoload -U compinit; compinit -i"])
def test_zsh_completes_commands_flags_and_files(
    first: str, kefu: Kefu, folder: Path, home: Path, installed: Installed
) -> None:
    """With a .zshrc that has set up zsh's own completion, and with one that has not."""
    (folder / "questions.yaml").touch()
    (folder / "_kefu").write_text(kefu("completion", "zsh").out)
    (home / ".zshrc").write_text(f"PS1='$ '\n{first}\n. ./_kefu\n")
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "TERM": "dumb"}
    zsh = (installed("zsh"), "-d", "-i")
    for words, completed in [*COMPLETED, ("test que", "questions.yaml")]:
        with PseudoTerminal([], environment, folder, program=zsh) as shell:
            shell.prompted()
            shell.type(f"kefu {words}\t")
            # A single completion takes the place of the word. Several are listed.
            before = " ".join(["kefu", *words.split()[:-1]])
            several = " " in completed
            shell.until("  ".join(completed.split()) if several else f"{before} {completed} ")
