"""Starts the measured processes, and reads their processor time and memory from Linux."""

from __future__ import annotations

import json
import os
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from benchmarks.load import Figures, Job

ROOT = Path(__file__).parent.parent
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/")
TICKS = os.sysconf("SC_CLK_TCK")
START = 90
"""Seconds a server may take to start."""


def raise_file_limit() -> None:
    """1,000 streams take 2,000 sockets in a relay. Child processes inherit the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Server:
    """A server process: it prints its address when it is ready, or listens on the given port."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], log: Path, port: int = 0
    ) -> None:
        self.log = log
        base = {k: v for k, v in os.environ.items() if not k.startswith(("KEFU_", "LONGCAT_"))}
        with log.open("ab") as stderr:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**base, **env},
                stdout=subprocess.PIPE,
                stderr=stderr,
                bufsize=0,
            )
        self.pid = self.process.pid
        self.port = self._wait_until_open(port) if port else self._wait_for_port()

    def _wait_for_port(self) -> int:
        assert self.process.stdout
        while line := read_line(self.process.stdout, START):
            if found := ADDRESS.search(line):
                # Further output must be read, because a full pipe would block the server.
                threading.Thread(target=self.process.stdout.read, daemon=True).start()
                return int(found[1])
        raise self._failed()

    def _wait_until_open(self, port: int) -> int:
        assert self.process.stdout
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        deadline = time.monotonic() + START
        while time.monotonic() < deadline and self.process.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return port
            time.sleep(0.25)
        raise self._failed()

    def _failed(self) -> RuntimeError:
        self.stop()
        return RuntimeError(f"did not start: {self.log.read_text()[-2000:]}")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def read_line(stream: IO[bytes], timeout: float) -> str:
    """A line, or "" after the timeout. `select` would miss lines in the buffer of a buffered
    stream.
    """
    ready, _, _ = select.select([stream], [], [], timeout)
    return stream.readline().decode() if ready else ""


class Load:
    """The load generator's process, which runs one job at a time."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.load"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )

    def run(self, job: Job, meanwhile: Callable[[], None] = lambda: None) -> Figures:
        """Run a job. `meanwhile` is called four times a second."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(job).encode() + b"\n")
        deadline = time.monotonic() + job["timeout"] * job["requests"] + job["ramp"] + 60
        while time.monotonic() < deadline:
            if line := read_line(self.process.stdout, 0.25):
                figures: Figures = json.loads(line)
                return figures
            if self.process.poll() is not None:
                raise RuntimeError("the load process ended")
            meanwhile()
        raise TimeoutError(f"no answer to {job}")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def family(pid: int) -> list[int]:
    """The ids of a process and its descendants."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*"):
        for child in (task / "children").read_text().split():
            found += family(int(child))
    return found


def cpu_seconds(pid: int) -> float:
    """User and system time so far, of all threads and descendants."""
    total = 0
    for member in family(pid):
        after_name = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
        total += int(after_name[11]) + int(after_name[12])
    return total / TICKS


def resident_bytes(pid: int) -> int:
    pages = (int(Path(f"/proc/{p}/statm").read_text().split()[1]) for p in family(pid))
    return sum(pages) * resource.getpagesize()
