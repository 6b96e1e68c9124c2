"""`kefu serve` in a terminal."""

from __future__ import annotations

from pathlib import Path

from tests.cli.pseudo_terminal import PseudoTerminal


def test_on_a_terminal_the_log_is_text(environment: dict[str, str], folder: Path) -> None:
    """Elsewhere it is JSON, as all tests with a service check."""
    environment["KEFU_MAX_RETRIES"] = "3"  # a line that is logged at the start
    with PseudoTerminal(["serve", "--port", "0"], environment, folder) as terminal:
        shown = terminal.until("KEFU_MAX_RETRIES is set, but Kefu has no such setting")
        assert '"message"' not in shown
