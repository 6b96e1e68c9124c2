"""The real service as a child process, with only the environment variables of the test."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kefu.bootstrap.constants import Constants
from tests.fakes.forked import ForkedProcess, kefu

READY = re.compile(r"^Kefu is ready: (http://\S+:\d+)/\s*$", re.MULTILINE)

SERVED = Path(__file__).with_name("served.py")

QUIET: dict[str, object] = {
    # Rate limits would delay tests; tests about limits set their own.
    "ip_requests_per_minute": 0,
    "store": "memory:",
    "allowed_origins": "https://shop.example",
    "openai_api": "on",
}


class Service:
    """`python -m kefu serve` on a free port of 127.0.0.1.

    Settings are those of the environment, in lower case and without `KEFU_`, or the names of
    `kefu.bootstrap.constants.Constants`, or `hooks`: the names of enabled hooks, comma separated.
    `upstream=None` leaves KEFU_UPSTREAM_URL unset.
    """

    def __init__(
        self,
        upstream: str | None,
        keys: Sequence[str] = ("key-one",),
        *,
        environment: dict[str, str] | None = None,
        open_files: str | None = None,
        python: Path | str | None = None,
        **settings: Any,
    ) -> None:
        """It is forked from a process that has imported the service, or started by `python`.

        `open_files`: how many files the process may have open, `SOFT:HARD` (Linux).
        """
        # The processes of all tests share one machine. Tests of overload name their delay.
        constants: dict[str, Any] = {"session_requests_per_minute": 0, "overload_delay": 60.0}
        for name in Constants._fields:
            if name in settings:
                constants[name] = settings.pop(name)
        self._arguments = [json.dumps(constants), "--host", "127.0.0.1", "--port", "0"]
        self._folder = tempfile.TemporaryDirectory(prefix="kefu-test-")
        self.folder = Path(self._folder.name)
        if hooks := settings.pop("hooks", ""):
            tables = [f"[hooks.{name}]" for name in str(hooks).split(",")]
            (self.folder / "kefu.toml").write_text("\n".join(tables))
        self.environment = {
            "PATH": os.defpath,
            "HOME": self._folder.name,
            "PYTHONWARNINGS": "error::ResourceWarning",
            **({"LONGCAT_API_KEYS": ",".join(keys)} if keys else {}),
            **({"KEFU_UPSTREAM_URL": upstream} if upstream else {}),
            **{f"KEFU_{k.upper()}": str(v) for k, v in {**QUIET, **settings}.items()},
            **(environment or {}),
        }
        self._python = python if open_files is None else (python or sys.executable)
        self._prefix = [] if open_files is None else ["prlimit", f"--nofile={open_files}"]
        self.url = ""
        self._process: subprocess.Popen[bytes] | ForkedProcess | None = None

    def start(self, timeout: float = 120) -> Self:
        """Wait for the ready line. The error message of a failed start contains the service's
        output.
        """
        assert self._process is None, "`with Service(…)` starts it"
        self._process = self._started()
        deadline = time.monotonic() + timeout
        while not (ready := READY.search(self.stdout)):
            if time.monotonic() > deadline or self._process.poll() is not None:
                text = self.stderr
                self.kill()
                raise AssertionError(f"the service did not become ready:\n{text}")
            time.sleep(0.01)
        self.url = ready[1]
        return self

    def _started(self) -> subprocess.Popen[bytes] | ForkedProcess:
        if self._python is None:
            return ForkedProcess(
                self._arguments,
                folder=self.folder,
                environment=self.environment,
                stdout=self._stdout,
                stderr=self._stderr,
            )
        with self._stdout.open("wb") as stdout, self._stderr.open("wb") as stderr:
            return subprocess.Popen(
                [*self._prefix, str(self._python), "-P", str(SERVED), *self._arguments],
                cwd=self.folder,
                env=self.environment,
                stdout=stdout,
                stderr=stderr,
            )

    @property
    def process(self) -> subprocess.Popen[bytes] | ForkedProcess:
        assert self._process is not None, "not started"
        return self._process

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def _stdout(self) -> Path:
        return self.folder / "stdout"

    @property
    def _stderr(self) -> Path:
        return self.folder / "stderr"

    @property
    def stderr(self) -> str:
        return self._stderr.read_text(errors="replace") if self._stderr.exists() else ""

    @property
    def stdout(self) -> str:
        return self._stdout.read_text(errors="replace") if self._stdout.exists() else ""

    def logs(self) -> list[dict[str, Any]]:
        """The JSON objects on stderr so far. Raises if a line is not JSON.

        A line that is still being written is left out.
        """
        whole, _, _ = self.stderr.rpartition("\n")
        return [json.loads(line) for line in whole.split("\n") if line.strip()]

    async def logged(self, *, timeout: float = 20.0, **fields: object) -> dict[str, Any]:
        """Wait for the first log record with these fields."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            for record in self.logs():
                if all(record.get(name) == value for name, value in fields.items()):
                    return record
            await asyncio.sleep(0.02)
        raise AssertionError(f"no log record with {fields}:\n{self.stderr}")

    def kefu(self, *arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command of Kefu with the service's settings, in its folder or another."""
        return kefu(*arguments, folder=folder or self.folder, environment=self.environment)

    @property
    def memory(self) -> int:
        """Resident bytes of the process (Linux)."""
        return self._status("VmRSS")

    @property
    def own_memory(self) -> int:
        """Resident bytes without the pages of files, such as libraries (Linux).

        How many of these are mapped depends on what the kernel has in its cache.
        """
        return self._status("RssAnon")

    def _status(self, name: str) -> int:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)[0]) * 1024

    @property
    def cpu(self) -> float:
        """Processor seconds used so far, as time.process_time() would return them (Linux)."""
        clock = ~self.process.pid << 3 | 2  # the clock id, computed as in clock_getcpuclockid(3)
        return time.clock_gettime(clock)

    def terminate(self) -> None:
        """Send SIGTERM, and do not wait."""
        self.process.send_signal(signal.SIGTERM)

    def stop(self, timeout: float = 10) -> int:
        """Send SIGTERM, and wait. Returns the exit code."""
        if self.process.poll() is None:
            self.terminate()
        try:
            return self.process.wait(timeout)
        finally:
            self.kill()

    def restart(self, *, kill: bool = False) -> None:
        """Stop or kill it, and start it again in the same folder, on another port."""
        if kill:
            self.kill()
        else:
            self.stop()
        self._process = None
        self._stdout.unlink()
        self.url = ""
        self.start()

    def kill(self) -> None:
        """Kill it by SIGKILL."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """Stop it, and delete its folder with the database and the log."""
        if self._process is not None:
            self.kill()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            print(f"--- stderr of the service ---\n{self.stderr[-8000:]}", file=sys.stderr)
        self.close()
