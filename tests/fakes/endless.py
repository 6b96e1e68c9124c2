"""Tools that never end or that crash: plain functions, as a user of the library may write them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

_called = 0


def _note(folder: Path) -> None:
    """Write the ids of this process and of its parent, so that a test can look for them."""
    (folder / "pids.new").write_text(f"{os.getpid()} {os.getppid()}")
    (folder / "pids.new").rename(folder / "pids")


def spin(folder: Path, text: str) -> str:
    """Compute for ever, in Python."""
    _note(folder)
    while True:
        pass


def hold_the_lock(folder: Path, text: str) -> str:
    """Compute for hours in one C call, which never releases the interpreter's lock."""
    _note(folder)
    return str(10 ** (10**9) > 1)


def sleep(folder: Path, text: str) -> str:
    """Wait without an end."""
    _note(folder)
    time.sleep(10**6)
    return ""


def start_another(folder: Path, text: str) -> str:
    """Start another process and wait for it."""
    with subprocess.Popen(["sleep", "1000000"]) as other:
        (folder / "pids.new").write_text(f"{os.getpid()} {other.pid}")
        (folder / "pids.new").rename(folder / "pids")
        return str(other.wait())


def crash(text: str) -> str:
    """End the process by a signal, as a crash in a C library does."""
    os.kill(os.getpid(), signal.SIGSEGV)
    return ""


def leave(text: str) -> str:
    """End the process at once, with an exit status."""
    os._exit(3)


def end(text: str) -> str:
    """Raise SystemExit."""
    sys.exit(text)


def bug(text: str) -> str:
    """Divide by zero."""
    return str(1 // 0)


def no_text(text: str) -> str:
    """Return a value that is not a text."""
    return 42  # type: ignore[return-value]


def repeat(count: int, letter: str = "é") -> str:
    """Return a long text."""
    return letter * count


def chatter(text: str) -> str:
    """Use the standard streams: write to both outputs, and read the input."""
    print('{"text": "forged"}', flush=True)
    os.write(1, b'{"text": "forged"}\n')
    os.write(2, b"\x1b]0;EVIL\x07")
    return f"read {sys.stdin.read()!r}"


def environment(text: str) -> str:
    """Return the environment variables of this process and of its parent."""
    return (
        Path("/proc/self/environ").read_text() + Path(f"/proc/{os.getppid()}/environ").read_text()
    )


def parent(text: str) -> str:
    """Return the id of the parent process, and the number of calls in this process."""
    global _called  # noqa: PLW0603 - the test checks whether it is kept
    _called += 1
    return f"{os.getppid()} {_called}"
