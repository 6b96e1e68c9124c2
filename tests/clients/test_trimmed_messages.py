"""The official clients accept the result of `trim_messages` without a conversion."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.clients.conftest import PYTHON, ROOT


@pytest.mark.slow
def test_official_clients_send_trimmed_messages_and_their_apis_take_them() -> None:
    """Two clients, three APIs, random and recorded conversations, and a server that checks them."""
    if not PYTHON.exists():
        pytest.skip("The clients for Python are not installed. Try: make parts")
    command = [str(PYTHON), "-m", "tests.clients.scripts.trimmed_messages"]
    path = os.pathsep.join((str(ROOT / "functions"), str(ROOT)))
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    assert outcome["problems"] == []
    assert outcome["sent"] == {"chat completions": 87, "responses": 91, "anthropic": 74}


@pytest.mark.slow
def test_x22_objects_of_other_libraries_are_trimmed_as_they_are() -> None:
    """LangChain's, pydantic-ai's, google-genai's and Ollama's objects, and Bedrock's dicts."""
    if not PYTHON.exists():
        pytest.skip("The clients for Python are not installed. Try: make parts")
    command = [str(PYTHON), "-W", "ignore", "-m", "tests.clients.scripts.foreign_messages"]
    path = os.pathsep.join((str(ROOT / "functions"), str(ROOT)))
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    names = ("langchain", "pydantic-ai", "bedrock", "gemini", "ollama")
    assert json.loads(done.stdout) == {name: {"": 300} for name in names}
