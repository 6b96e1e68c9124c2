"""The image is built and runs as in compose.yaml (E3). Without a container engine it skips."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import NO_ENGINE
from tests.parts.plugin import free_port
from tests.template.conftest import ROOT

IMAGE = "kefu-of-a-test"
AS_IN_COMPOSE = ("--read-only", "--tmpfs", "/tmp", "--tmpfs", "/data")
READY_BEFORE_S = 30.0


def _engine(*arguments: str) -> subprocess.CompletedProcess[str]:
    for program in ("docker", "podman"):
        if path := shutil.which(program):
            environment = os.environ | {"BUILDAH_FORMAT": "docker"}  # OCI's has no health check
            environment.pop("SSL_CERT_FILE")
            child = subprocess.run(
                [path, *arguments], capture_output=True, text=True, check=False, env=environment
            )
            if child.returncode == 0 or "docker daemon" not in child.stderr:
                return child
    pytest.skip(f"{NO_ENGINE}: the image needs Docker or Podman.")


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    for line in (ROOT / "Dockerfile").read_text().splitlines():
        if line.startswith("FROM "):
            base = f"docker.io/library/{line.split()[1]}"
            if _engine("image", "inspect", base).returncode and _engine("pull", base).returncode:
                pytest.skip(f"{NO_ENGINE} that can pull {base}.")
            if _engine("run", "--rm", base, "true").returncode:
                pytest.skip(f"{NO_ENGINE} that can run {base}.")
    child = _engine("build", "--tag", IMAGE, str(ROOT))
    assert child.returncode == 0, child.stdout + child.stderr
    yield IMAGE
    _engine("rmi", "--force", IMAGE)


@pytest.fixture
def server(image: str) -> Iterator[tuple[str, str]]:
    """The name of a running container, and the address of its service."""
    port = free_port()
    name = f"{IMAGE}-{port}"
    published = ("--publish", f"127.0.0.1:{port}:8000")
    child = _engine("run", "--detach", "--name", name, *AS_IN_COMPOSE, *published, image)
    try:
        assert child.returncode == 0, child.stderr
        url = f"http://127.0.0.1:{port}"
        _wait_until_ready(name, url)
        yield name, url
    finally:
        _engine("rm", "--force", name)


def _wait_until_ready(name: str, url: str) -> None:
    end = time.monotonic() + READY_BEFORE_S
    while time.monotonic() < end:
        try:
            if httpx.get(f"{url}/ready", trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    child = _engine("logs", name)
    raise AssertionError(child.stdout + child.stderr)


@pytest.mark.slow
def test_e3_the_image_has_at_most_120_mb_when_it_is_compressed(image: str, tmp_path: Path) -> None:
    """As a registry keeps it: its layers, in gzip."""
    file = tmp_path / "image.tar"
    child = _engine("save", "--output", str(file), image)
    assert child.returncode == 0, child.stderr
    compressor = zlib.compressobj(wbits=31)
    with file.open("rb") as layers:
        size = sum(
            len(compressor.compress(part)) for part in iter(lambda: layers.read(1 << 20), b"")
        )
    assert 20_000_000 < size + len(compressor.flush()) <= 120_000_000


def test_e3_hadolint_finds_nothing_in_the_dockerfile(sam: Callable[..., Any]) -> None:
    child = sam("hadolint", "--failure-threshold", "style", "Dockerfile")
    assert child.returncode == 0, child.stdout + child.stderr


@pytest.mark.slow
def test_e3_the_image_answers_without_root_on_a_file_system_it_cannot_write(
    server: tuple[str, str],
) -> None:
    name, url = server
    body = {"messages": [{"role": "user", "content": "Hello"}]}
    answer = httpx.post(f"{url}/api/chat", json=body, trust_env=False)
    assert answer.text.rstrip().endswith("data: [DONE]")
    assert httpx.get(f"{url}/chat-widget.js", trust_env=False).status_code == 200
    assert _engine("exec", name, "id", "-u").stdout.strip() == "10001"
    assert _engine("exec", name, "touch", "/opt/kefu/x").returncode != 0
    assert _engine("exec", name, "touch", "/data/x").returncode == 0


@pytest.mark.slow
def test_e3_the_image_says_that_it_is_healthy_and_ends_at_once(server: tuple[str, str]) -> None:
    name, _ = server
    config = json.loads(_engine("inspect", "--format", "{{json .Config}}", name).stdout)
    check = config["Healthcheck"]["Test"]
    assert check[0] == "CMD"
    assert _engine("exec", name, *check[1:]).returncode == 0
    assert _engine("stop", "--time", "20", name).returncode == 0
    assert _engine("inspect", "--format", "{{.State.ExitCode}}", name).stdout.strip() == "0"
