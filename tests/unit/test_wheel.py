"""A wheel that is built from a clone contains the widget and the panel."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STATIC = "kefu/web/static"
WANTED = {
    f"{STATIC}/widget/chat-widget.js",
    f"{STATIC}/widget/chat-widget.js.br",
    f"{STATIC}/widget/chat-widget.all.js",
    f"{STATIC}/widget/chat-widget.json",
    f"{STATIC}/panel/panel.html",
    f"{STATIC}/stage.html",
}
FOR_DEVELOPERS = {f"{STATIC}/{name}" for name in ("gallery.html", "gallery.js", "scenes.js")}


def run(command: list[str | Path], cwd: Path, path: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": path or os.environ["PATH"]}
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def build(tree: Path, *options: str, path: str = "") -> subprocess.CompletedProcess[str]:
    """Run `hatchling build` in this folder, with the hatchling of the test environment."""
    return run([sys.executable, "-m", "hatchling", "build", *options], tree, path)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A copy of the files under version control, with the npm packages that `make` has
    installed.
    """
    tree = tmp_path / "clone"
    listed = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], ROOT)
    assert listed.returncode == 0, listed.stderr
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    (tree / "widget/node_modules").symlink_to(ROOT / "widget/node_modules")
    assert not (tree / "functions" / STATIC / "widget").exists()
    return tree


@pytest.fixture
def without_npm(tmp_path: Path) -> str:
    folder = tmp_path / "empty"
    folder.mkdir()
    return str(folder)


def wheel_of(tree: Path) -> Path:
    (wheel,) = (tree / "dist").glob("*.whl")
    return wheel


@contextmanager
def serving(python: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Start `kefu serve` with this Python. Yields the process and its log file."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "log"
    environment = {"PATH": os.defpath, "HOME": str(folder), "LONGCAT_API_KEYS": "key-one"}
    environment |= {"KEFU_STORE": "memory:"}
    with log.open("w") as output:
        process = subprocess.Popen(
            [python, "-m", "kefu", "serve", "--port", str(port)],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=output,
        )
        try:
            deadline = time.monotonic() + 60
            while "Kefu is ready" not in log.read_text():
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}", log
        finally:
            process.terminate()
            process.wait(10)


def environment_with(wheel: Path, folder: Path) -> Path:
    """A new virtual environment with the wheel. Dependencies come from the test environment."""
    made = run([sys.executable, "-m", "venv", "--without-pip", folder], ROOT)
    assert made.returncode == 0, made.stderr
    python = folder / "bin/python"
    uv = Path(sys.executable).with_name("uv")
    added = run([uv, "pip", "install", "--offline", "--no-deps", "--python", python, wheel], folder)
    assert added.returncode == 0, added.stderr
    (here,) = Path(sys.prefix).glob("lib/python*/site-packages")
    (there,) = folder.glob("lib/python*/site-packages")
    # Its .pth file has no effect here, because Python reads .pth files only in its own site
    # folders.
    (there / "dependencies.pth").write_text(f"{here}\n")
    return python


@pytest.mark.slow
def test_wheel_of_a_clone_serves_the_widget(clone: Path, tmp_path: Path) -> None:
    built = build(clone, "-t", "wheel")
    assert built.returncode == 0, built.stderr
    names = set(zipfile.ZipFile(wheel_of(clone)).namelist())
    assert names >= WANTED
    assert not names & FOR_DEVELOPERS
    assert all((clone / "functions" / name).is_file() for name in FOR_DEVELOPERS)
    python = environment_with(wheel_of(clone), tmp_path / "venv")
    with serving(python, tmp_path) as (url, log):
        with urllib.request.urlopen(f"{url}/chat-widget.js") as answer:
            script = answer.read()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{url}/gallery")
        assert "not built" not in log.read_text()
    assert script == (clone / "functions" / STATIC / "widget/chat-widget.js").read_bytes()


@pytest.mark.slow
def test_sdist_carries_the_widget_and_needs_no_node(
    clone: Path, tmp_path: Path, without_npm: str
) -> None:
    built = build(clone, "-t", "sdist")
    assert built.returncode == 0, built.stderr
    (archive,) = (clone / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "sdist", filter="data")
    (tree,) = (tmp_path / "sdist").iterdir()
    built = build(tree, "-t", "wheel", path=without_npm)
    assert built.returncode == 0, built.stderr
    assert set(zipfile.ZipFile(wheel_of(tree)).namelist()) >= WANTED


def test_wheel_without_node_is_refused_with_a_sentence(clone: Path, without_npm: str) -> None:
    built = build(clone, "-t", "wheel", path=without_npm)
    assert built.returncode == 1
    assert "needs Node.js 20.19 or newer" in built.stderr
    assert "https://nodejs.org" in built.stderr
    assert "Traceback" not in built.stderr
    assert not list((clone / "dist").glob("*.whl"))


@pytest.mark.slow
def test_a_build_of_the_widget_that_fails_stops_the_wheel(clone: Path) -> None:
    (clone / "widget/src/loader.ts").write_text("const broken = ;\n")
    built = build(clone, "-t", "wheel")
    assert built.returncode == 1
    assert "`npm run --silent build` in the folder widget/ failed with exit code 1" in built.stderr
    assert not list((clone / "dist").glob("*.whl"))


def test_editable_install_builds_nothing(clone: Path, without_npm: str) -> None:
    """`make setup` installs Kefu before it builds the widget."""
    program = "from hatchling.build import build_editable; build_editable('dist')"
    editable = run([sys.executable, "-c", program], clone, without_npm)
    assert editable.returncode == 0, editable.stderr
    assert not (clone / "functions" / STATIC / "widget").exists()


@pytest.mark.slow
def test_a_service_without_a_built_widget_reports_it_at_start(clone: Path, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={clone}/functions exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    with serving(python, tmp_path) as (url, log):
        assert "The chat widget is not built" in log.read_text()
        assert "https://nodejs.org" in log.read_text()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{url}/chat-widget.js")
