"""`kefu serve` in a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.cli.pseudo_terminal import PseudoTerminal


def test_on_a_terminal_the_log_is_text(environment: dict[str, str], folder: Path) -> None:
    """Elsewhere it is JSON, as all tests with a service check."""
    environment["KEFU_MAX_RETRIES"] = "3"  # a line that is logged at the start
    with PseudoTerminal(["serve", "--port", "0"], environment, folder) as terminal:
        shown = terminal.until("KEFU_MAX_RETRIES is set, but Kefu has no such setting")
        assert '"message"' not in shown


def test_sigterm_ends_a_server_that_is_not_up(environment: dict[str, str], folder: Path) -> None:
    """The first process of a container is one that ignores signals for which it has no handler."""
    os.mkfifo(folder / "kefu.toml")
    ignoring = ["/bin/sh", "-c", "trap '' TERM; exec \"$@\"", "sh"]
    command = [*ignoring, sys.executable, "-m", "kefu", "serve", "--port", "0"]
    with (
        subprocess.Popen(command, cwd=folder, env=environment) as server,
        (folder / "kefu.toml").open("w"),  # it opens when the server begins to read it
    ):
        server.terminate()
        try:
            assert server.wait(60) == 0
        finally:
            server.kill()


def test_a_port_that_no_machine_has_is_a_sentence(
    environment: dict[str, str], folder: Path
) -> None:
    command = [sys.executable, "-m", "kefu", "serve", "--port", "65536"]
    ran = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert "kefu: cannot listen on 127.0.0.1:65536: " in ran.stderr
    assert "Traceback" not in ran.stderr
