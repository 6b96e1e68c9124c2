"""Runs commands of Kefu in processes that are forked from one which has imported the service.

It is a process of its own, with its own environment, files and signals. Only the start of Python
and the imports, two thirds of the processor time of a start, are done once for many services.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from kefu.__main__ import main as command
from tests.fakes import served

CONTEXT = multiprocessing.get_context("forkserver")
IMPORTS = "tests.fakes.service_imports"
CONTEXT.set_forkserver_preload([IMPORTS])
ROOT = Path(__file__).parents[2]


class ForkedProcess:
    """The part of subprocess.Popen that tests use. A terminal as `stdin` is the process's own.

    A stream is a file, or an end of `CONTEXT.Pipe()`; `stderr=None` is that of the tests.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        stdout: Path | Connection,
        stderr: Path | None,
        stdin: Path | Connection = Path(os.devnull),
        main: Callable[[Sequence[str]], int] = served.main,
    ) -> None:
        """Runs it with these arguments in this folder."""
        files = (stdin, stdout, stderr)
        self._process = CONTEXT.Process(
            target=_run, args=(main, arguments, folder, dict(environment), files), daemon=True
        )
        # The first start imports the service from the current folder, which a test may change.
        with contextlib.chdir(ROOT):
            self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, or the negative number of the signal that ended it; None: it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("kefu", timeout or 0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def kefu(
    *arguments: str,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    typed: str = "",
    main: Callable[[Sequence[str]], int] = command,
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end. `environment`: another one than that of the tests; `main`: another
    program.
    """
    with tempfile.TemporaryDirectory(prefix="kefu-test-") as name:
        stdin, stdout, stderr = (Path(name) / one for one in ("stdin", "stdout", "stderr"))
        stdin.write_text(typed, "utf-8")
        process = ForkedProcess(
            arguments,
            folder=folder,
            environment=os.environ if environment is None else environment,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            main=main,
        )
        try:
            code = process.wait(120)
        finally:
            process.kill()
        texts = (file.read_text("utf-8") for file in (stdout, stderr))
        return subprocess.CompletedProcess(["kefu", *arguments], code, *texts)


def _run(
    main: Callable[[Sequence[str]], int],
    arguments: Sequence[str],
    folder: Path,
    environment: dict[str, str],
    files: tuple[Path | Connection, Path | Connection, Path | None],
) -> None:
    # The first terminal that a session opens controls it: Ctrl-C sends a signal.
    os.setsid()
    for number, stream in enumerate(files):
        if stream is None:
            continue
        if isinstance(stream, Connection):
            os.dup2(stream.fileno(), number)
            stream.close()
            continue
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if number else os.O_RDONLY
        file = os.open(stream, flags, 0o600)
        os.dup2(file, number)
        os.close(file)
    # As Python opens them: each line is written at once to a terminal and to standard error.
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - open until the end
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    assert IMPORTS in sys.modules, "the imports failed, which multiprocessing does not report"
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    warnings.simplefilter("error", ResourceWarning)  # as PYTHONWARNINGS says, read by no fork
    # An interrupt is ignored by the process from which this one was forked.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main(arguments))
