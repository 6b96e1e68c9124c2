"""S11, S18, K7: a tool that never ends blocks neither Ctrl-C nor the end of the chat."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kefu.agent.tools import TOOLS
from tests.cli import endless_chat
from tests.cli.conftest import logged
from tests.cli.pseudo_terminal import PseudoTerminal
from tests.fakes.behaviours import answer
from tests.fakes.processes import all_end, children_of, noted
from tests.fakes.upstream import ScriptedUpstream
from tests.parts.plugin import daily, slow

CTRL_C, CTRL_D = "\x03", "\x04"
ROOT = Path(__file__).parents[2]
ENDLESS = ("spin", "hold_the_lock")
IN_A_PROCESS = {"read_file": "notes", "list_folder": ".", "calculate": "7*6"}


@pytest.fixture
def page() -> Iterator[socket.socket]:
    """A server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)
        yield server


@pytest.fixture
def chat(
    environment: dict[str, str], upstream: ScriptedUpstream, folder: Path, page: socket.socket
) -> Iterator[PseudoTerminal]:
    for name in ENDLESS:
        action = f'<action tool="{name}">notes</action>'
        upstream.script("*", answer(action), asking=f"please {name}")
    upstream.script("*", answer('<action tool="calculate">6*7</action>'), asking="calculate")
    upstream.script("*", answer("<final>It is 42.</final>"), asking="42</observation>")
    (folder / "notes").write_text("hello")
    environment["PYTHONPATH"] = str(ROOT)
    arguments = ["chat", "--allow-host", f"127.0.0.1:{page.getsockname()[1]}"]
    with PseudoTerminal(arguments, environment, folder, main=endless_chat.main) as terminal:
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


@pytest.mark.parametrize("tool", [slow("spin"), "hold_the_lock"])
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


@pytest.mark.parametrize("tool", ["spin", slow("hold_the_lock")])
def test_no_process_is_left_when_the_chat_is_killed(
    chat: PseudoTerminal, folder: Path, tool: str
) -> None:
    chat.type(f"please {tool}\r")
    running = noted(folder)
    chat.process.kill()
    assert all_end(running)


@pytest.mark.parametrize("tool", daily(IN_A_PROCESS, "calculate"))
def test_s11_ctrl_c_ends_each_tool_that_runs_in_a_process(
    chat: PseudoTerminal, upstream: ScriptedUpstream, tool: str
) -> None:
    """As on a network drive whose server does not answer: the process that works is stopped."""
    given = IN_A_PROCESS[tool]
    upstream.script("*", answer(f'<action tool="{tool}">{given}</action>'), asking="the tool")
    calculated(chat)
    [worker] = children_of(chat.process.pid)
    os.kill(worker, signal.SIGSTOP)
    chat.type("the tool\r")
    chat.until(f"→ {tool} {given}")
    chat.type(CTRL_C)
    chat.prompted()
    assert all_end([worker])
    calculated(chat)
    chat.type(CTRL_D)
    assert chat.ended() == 0


def test_s11_ctrl_c_ends_a_page_that_is_never_sent(
    chat: PseudoTerminal, upstream: ScriptedUpstream, page: socket.socket
) -> None:
    url = f"http://127.0.0.1:{page.getsockname()[1]}/"
    upstream.script("*", answer(f'<action tool="http_get">{url}</action>'), asking="the tool")
    chat.type("the tool\r")
    connection, _ = page.accept()
    with connection:
        connection.settimeout(20)
        assert connection.recv(4096).startswith(b"GET / HTTP/1.1")
        chat.type(CTRL_C)
        chat.prompted()
        assert connection.recv(4096) == b"", "the chat closes the connection"
    calculated(chat)


def test_every_tool_that_may_wait_is_interrupted_above() -> None:
    """`current_time` waits for nothing."""
    assert {*TOOLS} == {*IN_A_PROCESS, "http_get", "current_time"}


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
