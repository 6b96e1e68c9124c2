"""Runs tests.fakes.served in a process that is forked from one which has imported the service.

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
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.fakes import served

CONTEXT = multiprocessing.get_context("forkserver")
IMPORTS = "tests.fakes.service_imports"
CONTEXT.set_forkserver_preload([IMPORTS])
ROOT = Path(__file__).parents[2]


class ForkedProcess:
    """The part of subprocess.Popen that tests use."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        stdout: Path,
        stderr: Path,
    ) -> None:
        """Runs it with these arguments in this folder; output is written to the two files."""
        self._process = CONTEXT.Process(
            target=_run, args=(arguments, folder, dict(environment), stdout, stderr), daemon=True
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


def _run(
    arguments: Sequence[str], folder: Path, environment: dict[str, str], stdout: Path, stderr: Path
) -> None:
    for number, path in ((1, stdout), (2, stderr)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, number)
        os.close(file)
    assert IMPORTS in sys.modules, "the imports failed, which multiprocessing does not report"
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    warnings.simplefilter("error", ResourceWarning)  # as PYTHONWARNINGS says, read by no fork
    # An interrupt is ignored by the process from which this one was forked.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(served.main(arguments))
