from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest

from kefu.__main__ import main
from tests.fakes.upstream import ScriptedUpstream


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Kefu(Protocol):
    def __call__(self, *arguments: str, typed: str | bytes = "") -> Ran: ...


class Shell(Protocol):
    def __call__(self, command: str, *, before: str = "exec", typed: str = "") -> Ran: ...


@pytest.fixture
def upstream() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as running:
        yield running


@pytest.fixture
def environment(upstream: ScriptedUpstream, home: Path) -> dict[str, str]:
    """The environment variables for a chat with the scripted model."""
    return {
        "HOME": str(home),
        "KEFU_UPSTREAM_URL": upstream.base_url,
        "LONGCAT_API_KEYS": "key-one",
        "PATH": "/usr/bin:/bin",
        "PYTHONWARNINGS": "error::ResourceWarning",
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def kefu(
    folder: Path,
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Kefu:
    """Runs the command in this process, with streams that are no terminals."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str, typed: str | bytes = "") -> Ran:
        given = typed.encode() if isinstance(typed, str) else typed
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
        try:
            code = main(arguments)
        except SystemExit as ended:  # argparse exits this way
            code = int(ended.code or 0)
        shown = capsys.readouterr()
        return Ran(code, shown.out, shown.err)

    return run


@pytest.fixture
def shell(folder: Path, environment: dict[str, str]) -> Shell:
    """Runs Python in a child process, with its streams redirected by a shell."""

    def run(command: str, *, before: str = "exec", typed: str = "") -> Ran:
        child = subprocess.run(
            ["/bin/sh", "-c", f"{before} {sys.executable} {command}"],
            input=typed,
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Ran(child.returncode, child.stdout, child.stderr)

    return run


def logged(folder: Path) -> list[dict[str, Any]]:
    """The events of the only session in this folder."""
    (log,) = (folder / "history").glob("*.jsonl")
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
