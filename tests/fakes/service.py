"""The real service as a child process, in an environment that holds only what a test set."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

READY = re.compile(r"^Kefu is ready: (http://\S+:\d+)/\s*$")

QUIET: dict[str, object] = {
    # Limits would make tests wait for each other; those about limits set their own.
    "ip_requests_per_minute": 0,
    "max_streams_per_ip": 0,
    "session_requests_per_minute": 0,
    "store": "memory:",
    "allowed_origins": "https://shop.example",
    "openai_api": "true",
}


class Service:
    """`python -m kefu serve` on a free port of 127.0.0.1.

    Settings are those of the environment, in lower case and without `KEFU_`. `upstream=None`
    leaves KEFU_UPSTREAM_URL unset.
    """

    def __init__(
        self,
        upstream: str | None,
        keys: Sequence[str] = ("key-one",),
        *,
        environment: dict[str, str] | None = None,
        **settings: Any,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="kefu-test-")
        self.folder = Path(self._folder.name)
        self.environment = {
            "PATH": os.defpath,
            "HOME": self._folder.name,
            "PYTHONWARNINGS": "error::ResourceWarning",
            **({"LONGCAT_API_KEYS": ",".join(keys)} if keys else {}),
            **({"KEFU_UPSTREAM_URL": upstream} if upstream else {}),
            **{f"KEFU_{k.upper()}": str(v) for k, v in {**QUIET, **settings}.items()},
            **(environment or {}),
        }
        self.url = ""
        self._process: subprocess.Popen[str] | None = None
        self._stdout: list[str] = []
        self._ready = threading.Event()

    def start(self, timeout: float = 30) -> Self:
        """Returns when the ready line came; what the service said goes into the failure."""
        assert self._process is None, "`with Service(…)` starts it"
        with self._stderr.open("w") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "kefu", "serve", "--host", "127.0.0.1", "--port", "0"],
                cwd=self.folder,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()
        if not self._ready.wait(timeout) or not self.url:
            text = self.stderr
            self.kill()
            raise AssertionError(f"the service did not become ready:\n{text}")
        return self

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                self._stdout.append(line)
                if found := READY.match(line):
                    self.url = found[1]
                    self._ready.set()
        self._ready.set()

    @property
    def process(self) -> subprocess.Popen[str]:
        assert self._process is not None, "not started"
        return self._process

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def _stderr(self) -> Path:
        return self.folder / "stderr"

    @property
    def stderr(self) -> str:
        return self._stderr.read_text(errors="replace") if self._stderr.exists() else ""

    @property
    def stdout(self) -> str:
        return "".join(self._stdout)

    def logs(self) -> list[dict[str, Any]]:
        """The JSON objects on stderr so far; a line that is none fails the test that looks."""
        return [json.loads(line) for line in self.stderr.split("\n") if line.strip()]

    async def logged(self, *, timeout: float = 2.0, **fields: object) -> dict[str, Any]:
        """The first log record with these fields, as soon as it is there."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            for record in self.logs():
                if all(record.get(name) == value for name, value in fields.items()):
                    return record
            await asyncio.sleep(0.02)
        raise AssertionError(f"no log record with {fields}:\n{self.stderr}")

    @property
    def memory(self) -> int:
        """Resident bytes of the process (Linux)."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"^VmRSS:\s+(\d+) kB", text, re.MULTILINE)[0]) * 1024

    @property
    def cpu(self) -> float:
        """Processor seconds used so far (Linux), to the nanosecond: time.process_time() of it."""
        clock = ~self.process.pid << 3 | 2  # what clock_getcpuclockid(3) makes of a process
        return time.clock_gettime(clock)

    def terminate(self) -> None:
        """Ask it to end, and do not wait."""
        self.process.send_signal(signal.SIGTERM)

    def stop(self, timeout: float = 10) -> int:
        """SIGTERM, and the exit code."""
        if self.process.poll() is None:
            self.terminate()
        try:
            return self.process.wait(timeout)
        finally:
            self.kill()

    def restart(self, *, kill: bool = False) -> None:
        """End it, or kill it, and start it anew in the same folder, on another port."""
        if kill:
            self.kill()
        else:
            self.stop()
        self._process = None
        self._ready.clear()
        self.url = ""
        self.start()

    def kill(self) -> None:
        """End it without a chance to clean up."""
        self.process.kill()
        self.process.wait()
        # A grandchild may hold the pipe open; it is nobody's to wait for.
        self._reader.join(2)

    def close(self) -> None:
        """End it, and forget its folder (the database and the log among it)."""
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
