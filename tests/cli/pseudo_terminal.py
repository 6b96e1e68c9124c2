"""Runs a program in a pseudo-terminal of the kernel, and types into it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kefu.__main__ import main as kefu
from tests.fakes.forked import ForkedProcess
from tests.fakes.running import Running

STARTED = (sys.executable, "-m", "kefu")
"""The program that starts Python and imports Kefu, as a user's shell does."""

# The child makes this its controlling terminal, as a shell does for a job, so that Ctrl-C sends a
# signal. The tests may run in the background of a script, which ignores it.
_OWN = (
    "import fcntl, os, signal, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    " signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(*ARGS)"
)
_SEQUENCE = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -~]|\r")


_PROMPTED = "\x1b[?2004h"
"""Bracketed paste is switched on: prompt_toolkit begins to read keys."""


class PseudoTerminal(Running):
    """`with PseudoTerminal([...], environment, folder) as terminal:`"""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        *,
        stdout: Path | None = None,
        program: Sequence[str] = (),
        main: Callable[[Sequence[str]], int] = kefu,
    ) -> None:
        """`main` runs in a fork of a process that has imported Kefu; `program` is started anew."""
        self._master, self._slave = pty.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self._before = termios.tcgetattr(self._slave)
        environment = {"TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1", **environment}
        self.process: subprocess.Popen[bytes] | ForkedProcess
        if program:
            command = [*program, *arguments]
            self.process = subprocess.Popen(
                [sys.executable, "-S", "-c", _OWN.replace("ARGS", repr((command[0], command)))],
                stdin=self._slave,
                stdout=self._slave,
                stderr=self._slave,
                start_new_session=True,
                cwd=folder,
                env=environment,
            )
        else:
            terminal = Path(os.ttyname(self._slave))
            self.process = ForkedProcess(
                arguments,
                folder=folder,
                environment=environment,
                stdin=terminal,
                stdout=stdout or terminal,
                stderr=terminal,
                main=main,
            )
        self.raw = ""
        """All that was written to the screen."""
        self._seen = self._prompts = 0

    @property
    def text(self) -> str:
        """The output without control sequences."""
        return _SEQUENCE.sub("", self.raw)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def until(self, text: str, timeout: float = 20.0) -> str:
        """Wait until the text appears in the output, after the text of the last wait."""
        end = time.monotonic() + timeout
        while (at := self.text.find(text, self._seen)) < 0:
            if not self._read(end - time.monotonic()):
                raise AssertionError(f"{text!r} did not come. On the screen:\n{self.text}")
        shown = self.text[self._seen : at]
        self._seen = at + len(text)
        return shown

    def prompted(self, timeout: float = 20.0) -> None:
        """Wait until a new prompt appears."""
        end = time.monotonic() + timeout
        while self.raw.count(_PROMPTED) == self._prompts:
            if not self._read(end - time.monotonic()):
                raise AssertionError(f"no prompt. On the screen:\n{self.text}")
        self._prompts += 1

    def ended(self, timeout: float = 20.0) -> int:
        """Wait until the program ends. Returns the exit code."""
        end = time.monotonic() + timeout
        while self.process.poll() is None and time.monotonic() < end:
            self._read(0.05)
        while self._read(0.05):
            pass
        return self.process.wait(max(0.1, end - time.monotonic()))

    @property
    def restored(self) -> bool:
        """Whether the terminal's settings are those from before the program."""
        return termios.tcgetattr(self._master) == self._before

    def _read(self, timeout: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], max(0.0, timeout))
        if not ready:
            return False
        try:
            part = os.read(self._master, 65536)
        except OSError:  # on Linux, when the other end is closed
            return False
        self.raw += part.decode("utf-8", "replace")
        return bool(part)

    def hang_up(self) -> None:
        """Close the window."""
        os.close(self._master)
        self._master = -1

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._slave)
        if self._master >= 0:
            os.close(self._master)
