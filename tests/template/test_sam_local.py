"""`sam local` in Lambda's own image. It needs a container engine, and skips without one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import NO_ENGINE
from tests.fakes.lambda_function import HERE
from tests.parts.plugin import CREDENTIALS, free_port
from tests.template.conftest import ROOT, TOOLS

OVERRIDES = ("--parameter-overrides", f"StageName=local Architecture={HERE}")

Tool = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module", autouse=True)
def _engine() -> None:
    """A container engine that `sam local` supports must be installed and running."""
    for engine in ("docker", "finch"):
        if program := shutil.which(engine):
            done = subprocess.run([program, "info"], capture_output=True, check=False)
            if done.returncode == 0:
                return
    pytest.skip(f"{NO_ENGINE}: `sam local` needs Docker or Finch.")


@pytest.fixture(scope="module")
def template(_engine: None, sam: Tool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("local")
    child = sam("sam", "build", "--build-dir", str(folder), KEFU_ARCH=HERE)
    assert child.returncode == 0, child.stdout + child.stderr
    return folder / "template.yaml"


@pytest.mark.parametrize(
    ("event", "status"),
    [("rest-health", 200), ("http-health", 200), ("rest-widget", 200), ("rest-chat", 503)],
)
def test_sam_local_invoke_answers_the_sample_events(
    sam: Tool, template: Path, event: str, status: int
) -> None:
    """L6, L5: without a key a chat is refused with the usual error object."""
    file = str(ROOT / f"events/{event}.json")
    command = ("sam", "local", "invoke", "ChatFunction", "-t", str(template), "-e", file)
    child = sam(*command, *OVERRIDES)
    assert child.returncode == 0, child.stderr
    answer: Any = json.loads(child.stdout.strip().splitlines()[-1])
    assert answer["statusCode"] == status


def test_sam_local_start_api_serves_health(template: Path) -> None:
    """Fault L6."""
    port = free_port()
    command = ["sam", "local", "start-api", "-t", str(template), "-p", str(port), *OVERRIDES]
    environment = {**os.environ, **CREDENTIALS, "SAM_CLI_TELEMETRY": "0"}
    with subprocess.Popen([str(TOOLS / command[0]), *command[1:]], env=environment) as server:
        try:
            assert _health(f"http://127.0.0.1:{port}/health", server)["status"] == "degraded"
        finally:
            server.terminate()


def _health(url: str, server: subprocess.Popen[bytes]) -> Any:
    end = time.monotonic() + 300  # the image is downloaded the first time
    while server.poll() is None and time.monotonic() < end:
        try:
            return httpx.get(url, timeout=60, trust_env=False).json()
        except httpx.TransportError:
            time.sleep(0.5)
    raise AssertionError(f"{url} does not answer")
