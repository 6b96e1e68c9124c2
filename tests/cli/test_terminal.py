"""S5-S11, K4, K5, T21: the interactive chat in a real pseudo-terminal."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest

from tests.cli.conftest import logged
from tests.cli.pseudo_terminal import STARTED, PseudoTerminal
from tests.fakes.behaviours import answer, stall_after
from tests.fakes.upstream import ScriptedUpstream

CTRL_C, CTRL_D = "\x03", "\x04"
READY = "LongCat-2.0"
"""Stands below the prompt when the model can be asked."""


def test_a_chat_from_its_first_question_to_its_end(
    environment: dict[str, str], upstream: ScriptedUpstream, folder: Path
) -> None:
    """S5, S7, S8: prompt, steps, completion, several lines, a rejected and an approved tool."""
    upstream.script("*", answer("*Hello*, ", "you."), asking="first")
    upstream.script("*", answer("Two lines."), asking="one\ntwo")
    upstream.script(
        "*",
        answer("<thought>Numbers.</thought>", '<action tool="calculate">6*7</action>'),
        asking="calculate",
    )
    upstream.script("*", answer("<final>It is 42.</final>"), asking="42")
    upstream.script("*", answer("<final>You said no.</final>"), asking="did not allow")
    arguments = ["chat", "--approve"]
    with PseudoTerminal(arguments, environment, folder, program=STARTED) as terminal:
        terminal.until("Session sess_")
        terminal.prompted()
        terminal.type("first\r")
        terminal.until("Hello, you.")
        terminal.prompted()
        terminal.type("/he")
        terminal.until("/help")  # in the menu of completions
        terminal.type("\t\r")
        terminal.until("/help     this list")
        terminal.prompted()
        terminal.type('"""one\r')
        terminal.type('two"""\r')
        terminal.until("Two lines.")
        terminal.prompted()
        terminal.type("/frobnicate\r")
        terminal.until("There is no /frobnicate")
        terminal.prompted()
        for said, shown in (("y", "It is 42."), ("n", "You said no.")):
            terminal.type("calculate it\r")
            terminal.until("Numbers.")
            terminal.until("→ calculate 6*7")
            assert "calculate" not in terminal.until("Run it? [y/N]"), "said once"
            terminal.type(f"{said}\r")
            terminal.until(shown)
            terminal.prompted()
        terminal.type("/exit\r")
        assert terminal.ended() == 0
        assert terminal.restored
    assert logged(folder)[-1]["meta"]["reason"] == "exit"


def test_ctrl_c_stops_the_answer_and_not_the_chat(
    environment: dict[str, str], upstream: ScriptedUpstream, folder: Path
) -> None:
    """S11, K4: the prompt appears although the model never sends another word. The partial answer
    is stored. At the prompt, Ctrl-C clears the line, and ends the chat on an empty line.
    """
    upstream.script("*", stall_after(2), answer("Again."))
    with PseudoTerminal(["chat"], environment, folder) as terminal:
        terminal.prompted()
        terminal.type("tell me\r")
        terminal.until("piece1")
        drawn = len(terminal.raw)
        terminal.type("unseen")
        pressed = time.monotonic()
        terminal.type(CTRL_C)
        terminal.until("(stopped)")
        terminal.prompted()
        print(f"prompt back after {1000 * (time.monotonic() - pressed):.0f} ms")
        # Either would be written at the cursor, and would displace the redrawn text.
        assert not re.search(r"\^C|unseen", terminal.raw[drawn:])
        terminal.type("go on\r")
        terminal.until("Again.")
        terminal.prompted()
        terminal.type("half a quest")
        terminal.until("half a quest")
        terminal.type(CTRL_C)
        terminal.prompted()
        assert terminal.process.poll() is None
        terminal.type(CTRL_C)
        assert terminal.ended() == 130
        assert terminal.restored
    events = logged(folder)
    (stopped,) = (event for event in events if event["type"] == "interrupt")
    assert stopped["content"] == "piece0 piece1"
    assert [e["meta"]["status"] for e in events if e["type"] == "turn_end"] == ["interrupted", "ok"]
    assert events[-1]["meta"]["reason"] == "interrupt"
    told = upstream.journal[1].body["messages"]
    assert [m["content"] for m in told[1:]] == ["tell me", "piece0 piece1", "go on"]


def test_a_chat_in_the_background_is_not_stopped(
    environment: dict[str, str], upstream: ScriptedUpstream, folder: Path
) -> None:
    """S6: the shell stops a background process that changes the terminal's settings."""
    as_job = ("/bin/sh", "-c", 'set -m; "$@" & wait $!', "sh", *STARTED)
    arguments = ["chat", "--once", "x"]
    with PseudoTerminal(arguments, environment, folder, program=as_job) as terminal:
        terminal.until("Hello from the model.")
        assert terminal.ended() == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_session_in_its_log(
    environment: dict[str, str],
    upstream: ScriptedUpstream,
    folder: Path,
    number: signal.Signals,
    code: int,
) -> None:
    """K5, S18: the signal comes during an answer, whose text so far is stored."""
    upstream.script("*", stall_after(1))
    with PseudoTerminal(["chat", "question"], environment, folder) as terminal:
        terminal.until("piece0")
        os.kill(terminal.process.pid, number)
        assert terminal.ended() == code
        assert terminal.restored
    types = [event["type"] for event in logged(folder)]
    assert types[-3:] == ["interrupt", "turn_end", "session_end"]
    assert logged(folder)[-1]["meta"]["reason"] == number.name.lower()


@pytest.mark.parametrize("answering", [True, False])
def test_a_closed_window_ends_the_session_in_its_log(
    environment: dict[str, str], upstream: ScriptedUpstream, folder: Path, answering: bool
) -> None:
    """K5: during an answer, and at the prompt."""
    upstream.script("*", stall_after(1) if answering else answer("piece0"))
    with PseudoTerminal(["chat", "question"], environment, folder) as terminal:
        terminal.until("piece0")
        if not answering:
            terminal.prompted()
        terminal.hang_up()
        # At the prompt, the end of input may be noticed before the signal.
        assert terminal.process.wait(20) in ((129,) if answering else (0, 129))
    assert logged(folder)[-1]["type"] == "session_end"


@pytest.mark.slow
def test_a_session_is_gone_on_with_and_shown_again(
    environment: dict[str, str], upstream: ScriptedUpstream, folder: Path
) -> None:
    """S9: its id is shown above the prompt, and its answers look as before."""
    upstream.script("*", answer("# Title\n\n", "*first*"), answer("second"))
    environment["NO_COLOR"] = ""
    for arguments, said in (([], "one"), (["--continue"], "two")):
        with PseudoTerminal(["chat", *arguments], environment, folder) as terminal:
            terminal.until("Session sess_")
            terminal.prompted()
            terminal.type(f"{said}\r")
            terminal.until("first" if said == "one" else "second")
            terminal.prompted()
            terminal.type(CTRL_D)
            assert terminal.ended() == 0


def test_output_of_the_model_cannot_control_the_terminal(
    environment: dict[str, str], upstream: ScriptedUpstream, folder: Path
) -> None:
    """T21: neither the title nor the clipboard, links or colours. A Markdown link shows its
    address.
    """
    upstream.script(
        "*",
        answer(
            "\x1b]0;EVIL\x07\x1b]52;c;RVZJTA==\x07",
            "\x1b]8;;http://evil.example\x1b\\bank\x1b]8;;\x1b\\ ",
            "\x1b[38;5;123mEVIL\x1b",
            "[2J [label](https://real.example/x) \u202eltr",
        ),
    )
    with PseudoTerminal(["chat"], environment, folder) as terminal:
        terminal.prompted()
        terminal.type("x\r")
        terminal.until("real.example/x")
        terminal.prompted()
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
    assert "bank" in terminal.text
    for driving in ("\x1b]52", "\x1b]8", "]0;EVIL", "RVZJTA", "38;5;123", "\u202e", "evil.example"):
        assert driving not in terminal.raw
    assert "\x1b[2J" not in terminal.raw
    assert logged(folder)[-1]["meta"]["reason"] == "eof"


def test_standard_output_gets_the_answers_alone(
    environment: dict[str, str], upstream: ScriptedUpstream, folder: Path
) -> None:
    """S8: `kefu chat > file` in a terminal shows the prompt on standard error. NO_COLOR is
    respected, and a home folder that is not writable is no error (K10).
    """
    upstream.script("*", answer("<thought>Well.</thought><final>**forty-two**</final>"))
    environment |= {"NO_COLOR": "1", "HOME": "/dev/null"}
    out = folder / "out"
    with PseudoTerminal(["chat", "--no-log"], environment, folder, stdout=out) as terminal:
        terminal.prompted()
        terminal.type("x\r")
        terminal.until("Well.")
        terminal.prompted()
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
    assert out.read_text() == "**forty-two**\n"
    assert "forty-two" not in terminal.text
    assert not re.search(r"\x1b\[(2|3[0-7])m", terminal.raw)


def test_a_failed_start_is_reported_below_the_prompt(
    environment: dict[str, str], folder: Path
) -> None:
    """S10: the prompt appears before the settings are read, and disappears if they are invalid."""
    environment["KEFU_COOLDOWN"] = "long"
    with PseudoTerminal(["chat"], environment, folder) as terminal:
        terminal.until("KEFU_COOLDOWN")
        assert terminal.ended() == 2
        assert terminal.restored
    assert "Traceback" not in terminal.text


@pytest.mark.parametrize(("key", "code"), [(CTRL_D, 0), (CTRL_C, 130)])
def test_one_may_leave_before_the_model_is_there(
    environment: dict[str, str], folder: Path, key: str, code: int
) -> None:
    """S5, S10: the chat ends at once, while the model is still being loaded."""
    with PseudoTerminal(["chat"], environment, folder, program=STARTED) as terminal:
        terminal.prompted()
        terminal.type(key)
        assert terminal.ended() == code
        assert terminal.restored
    assert "Traceback" not in terminal.text
    assert "never" not in terminal.text


@pytest.mark.slow
def test_the_history_of_the_prompt_is_for_its_user_alone(
    environment: dict[str, str], folder: Path, home: Path
) -> None:
    """S7: the arrow key shows the messages of an earlier chat. Only the user can read the file."""
    for keys in ("remember me\r", "\x1b[A\r"):
        with PseudoTerminal(["chat", "--no-log"], environment, folder) as terminal:
            terminal.prompted()
            terminal.type(keys)
            terminal.until("remember me")
            terminal.until("Hello from the model.")
            terminal.prompted()
            terminal.type(CTRL_D)
            assert terminal.ended() == 0
    kept = home / ".local/state/kefu/chat_history"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
