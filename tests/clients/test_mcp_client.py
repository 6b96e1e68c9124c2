"""A22, A23: the client of MCP's official SDK searches and reads the learnt pages."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from kefu.knowledge.learning import Learnt
from kefu.knowledge.pages import Block, PageText
from kefu.stores.sqlite.knowledge.write import Run, write
from tests.clients.conftest import PYTHON, ROOT
from tests.fakes.service import Service

TEXT = "Parcels to Norway take three to five working days."
PAGE = PageText("https://shop.example/help", "Help", [Block(TEXT)], "en")


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_a23_the_official_client_reads_the_pages(mode: str, version: str, tmp_path: Path) -> None:
    if not PYTHON.exists():
        pytest.skip("The SDK of MCP is not installed. Try: make parts")
    file = tmp_path / "shop.kefu"
    write(file, Run([Learnt(PAGE, {})], [], 1_800_000_000.0))
    with Service(None, (), knowledge=str(file), mcp="true") as service:
        command = [str(PYTHON), "-m", "tests.clients.scripts.mcp_client"]
        done = subprocess.run(
            [
                *command,
                f"{service.url}mcp" if service.url.endswith("/") else f"{service.url}/mcp",
                mode,
            ],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": "", "NO_PROXY": "127.0.0.1"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "version": version,
        "reads": {"search_pages": True, "read_page": True},
        "text": TEXT,
        "wrong": True,
        "unknown": -32602,
    }
