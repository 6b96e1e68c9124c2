"""Runs scripts in Chromium, and returns their results.

One Node.js process with one Chromium serves all tests of a worker: a start of both takes more
processor time than most visits.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CHROMIUMS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)


def told_by(script: Path, *arguments: str, timeout: float = 150) -> dict[str, Any]:
    """The result of the function that `script` exports: see visits.mjs. Skips the test if Chromium
    is not installed.
    """
    answer = _visits().ask({"script": str(script), "given": arguments}, timeout)
    assert "failed" not in answer, answer["failed"]
    told: dict[str, Any] = answer["seen"]
    return told


class _Visits:
    def __init__(self, node: str) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it
        self._process = subprocess.Popen(
            [node, str(Path(__file__).with_name("visits.mjs"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
        )

    def ask(self, question: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Raises AssertionError if the process ends without an answer; a slow one is killed."""
        assert self._process.stdin
        assert self._process.stdout
        alarm = threading.Timer(timeout, self._process.kill)
        alarm.start()
        try:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        finally:
            alarm.cancel()
        if not line:
            _visits.cache_clear()
            raise AssertionError(f"no answer, after at most {timeout} seconds: {self.close()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> str:
        """The process closes its Chromium at the end of its input. Returns its error messages."""
        atexit.unregister(self.close)
        with self._process, self._stderr:
            self._process.communicate(timeout=10)
            self._stderr.seek(0)
            return self._stderr.read().decode(errors="replace")


@functools.cache
def _visits() -> _Visits:
    node = shutil.which("node")
    if node is None or not (ROOT / "widget/node_modules/playwright-core").is_dir():
        pytest.skip("needs Node.js and the widget's tools: make setup")
    if not any(map(shutil.which, (os.environ.get("CHROMIUM", ""), *CHROMIUMS))):
        pytest.skip("needs Chromium: make parts")
    visits = _Visits(node)
    atexit.register(visits.close)
    return visits
