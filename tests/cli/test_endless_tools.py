"""S11, S18, K7: a tool that never ends blocks neither Ctrl-C nor the end of the chat."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import logged
from tests.cli.pseudo_terminal import PseudoTerminal
from tests.fakes.behaviours import answer
from tests.fakes.processes import all_end, children_of, noted
from tests.fakes.upstream import ScriptedUpstream

CTRL_C, CTRL_D = "\x03", "\x04"
ROOT = Path(__file__).parents[2]
ENDLESS = ("spin", "hold_the_lock")


@pytest.fixture
def chat(
    environment: dict[str, str], upstream: ScriptedUpstream, folder: Path
) -> Iterator[PseudoTerminal]:
    for name in (*ENDLESS, "read_file"):
        action = f'<action tool="{name}">notes</action>'
        upstream.script("*", answer(action), asking=f"please {name}")
    upstream.script("*", answer('<action tool="calculate">6*7</action>'), asking="calculate")
    upstream.script("*", answer("<final>It is 42.</final>"), asking="42</observation>")
    upstream.script("*", answer("<final>It says hello.</final>"), asking="hello</observation>")
    (folder / "notes").write_text("hello")
    environment["PYTHONPATH"] = str(ROOT)
    program = (sys.executable, "-m", "tests.cli.endless_chat")
    with PseudoTerminal(["chat"], environment, folder, program=program) as terminal:
        terminal.prompted()
        yield terminal


def calculated(terminal: PseudoTerminal) -> None:
    """Check that a further tool call of the session works."""
    terminal.type("calculate\r")
    terminal.until("It is 42.")
    terminal.prompted()


@pytest.mark.parametrize("tool", ENDLESS)
def test_s11_ctrl_c_ends_a_tool_that_never_ends(
    chat: PseudoTerminal, folder: Path, tool: str
) -> None:
    """The prompt appears again, and the chat ends normally."""
    chat.type(f"please {tool}\r")
    running = noted(folder)
    chat.type(CTRL_C)
    chat.prompted()
    assert all_end(running)
    calculated(chat)
    workers = children_of(chat.process.pid)
    assert len(workers) == 1
    chat.type(CTRL_D)
    assert chat.ended() == 0
    assert chat.restored
    assert all_end(workers)
    events = logged(folder)
    assert [e["meta"]["status"] for e in events if e["type"] == "turn_end"] == ["interrupted", "ok"]
    assert "Traceback" not in chat.text


@pytest.mark.parametrize("tool", ENDLESS)
def test_s18_sigterm_ends_the_session_in_its_log(
    chat: PseudoTerminal, folder: Path, tool: str
) -> None:
    chat.type(f"please {tool}\r")
    running = noted(folder)
    os.kill(chat.process.pid, signal.SIGTERM)
    assert chat.ended() == 143
    assert chat.restored
    assert all_end(running)
    assert logged(folder)[-1]["meta"]["reason"] == "sigterm"


@pytest.mark.parametrize("tool", ENDLESS)
def test_no_process_is_left_when_the_chat_is_killed(
    chat: PseudoTerminal, folder: Path, tool: str
) -> None:
    chat.type(f"please {tool}\r")
    running = noted(folder)
    chat.process.kill()
    assert all_end(running)


def test_s11_ctrl_c_ends_a_file_that_is_never_read(chat: PseudoTerminal) -> None:
    """Simulates a network drive whose server does not answer: the process that reads is stopped."""
    chat.type("please read_file\r")
    chat.until("It says hello.")
    chat.prompted()
    [worker] = children_of(chat.process.pid)
    os.kill(worker, signal.SIGSTOP)
    chat.type("please read_file\r")
    chat.until("→ read_file notes")
    chat.type(CTRL_C)
    chat.prompted()
    assert all_end([worker])
    calculated(chat)
    chat.type(CTRL_D)
    assert chat.ended() == 0


def test_no_process_is_started_before_a_tool_is_called(
    environment: dict[str, str], upstream: ScriptedUpstream, folder: Path
) -> None:
    """Tools do not delay the start of a chat."""
    with PseudoTerminal(["chat"], environment, folder) as terminal:
        terminal.prompted()
        terminal.type("x\r")
        terminal.until("Hello from the model.")
        terminal.prompted()
        assert children_of(terminal.process.pid) == []
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
