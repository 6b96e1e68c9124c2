"""Runs the SAM tools on this repository's template."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.certificate import installing
from tests.parts.plugin import CREDENTIALS

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".venv-sam/bin"
CANARY = "sk-canary-of-the-builder-77aa"

Look = Callable[..., Any]


@pytest.fixture(scope="session")
def sam() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs one of the tools in the repository's root. Its environment contains a made-up
    API key.
    """
    if not (TOOLS / "sam").exists():
        pytest.skip("The AWS SAM CLI is not installed. Try: make parts")

    def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return _run([str(TOOLS / command[0]), *command[1:]], environment)

    return run


@pytest.fixture(scope="session")
def look(sam: object) -> Iterator[Look]:
    """`look(text=…)` returns the transformed template, `look(path=…)` the functions that run
    locally. Equal questions are answered once, because a transform takes 0.1 s of the processor.
    """
    script = ROOT / "tests/template/scripts/look.py"
    with subprocess.Popen(
        [str(TOOLS / "python"), str(script)],
        cwd=ROOT,
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as child:
        assert child.stdin
        assert child.stdout
        questions, answers = child.stdin, child.stdout

        @functools.cache
        def answer_to(question: str) -> str:
            questions.write(f"{question}\n")
            questions.flush()
            return answers.readline()

        def ask(parameters: dict[str, str] | None = None, **question: str) -> Any:
            wanted = {**question, "parameters": parameters or {}}
            answer = json.loads(answer_to(json.dumps(wanted, sort_keys=True)))
            assert "found" in answer, answer["failed"]
            return answer["found"]

        yield ask


@pytest.fixture(scope="session")
def text() -> str:
    return (ROOT / "template.yaml").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def stack(look: Look, text: str) -> dict[str, Any]:
    """The CloudFormation template that AWS makes of Kefu's template with its default parameters."""
    found: dict[str, Any] = look(text=text)
    return found


def _run(command: Sequence[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=ROOT,
        env=_environment(**environment),
        capture_output=True,
        text=True,
        check=False,
    )


def _environment(**more: str) -> dict[str, str]:
    return {
        **installing(),
        **CREDENTIALS,
        "AWS_SECRET_ACCESS_KEY": CANARY,
        "LONGCAT_API_KEYS": CANARY,
        "SAM_CLI_TELEMETRY": "0",
        "MAKEFLAGS": "",
        "PYTHON": sys.executable,
        **more,
    }
