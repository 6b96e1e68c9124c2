"""A newcomer's first minute: `kefu serve`, no key, no upstream, a browser, a question."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.service import Service

ROOT = Path(__file__).parent.parent.parent
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def _ask(address: str, question: str) -> dict[str, Any]:
    """What a visitor sees who asks this on that page."""
    node = shutil.which("node")
    if node is None or not (ROOT / "widget/node_modules/playwright-core").is_dir():
        pytest.skip("needs Node.js and the widget's tools: make setup")
    if not any(map(shutil.which, (os.environ.get("CHROMIUM", ""), *CHROMIUMS))):
        pytest.skip("needs Chromium: make parts")
    visit = subprocess.run(
        [node, str(Path(__file__).parent / "visitor.mjs"), address, question],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert visit.returncode == 0, visit.stderr
    seen: dict[str, Any] = json.loads(visit.stdout)
    return seen


def test_newcomer_reads_a_streamed_answer_without_key_or_upstream() -> None:
    """C17, W8: the printed address shows the chat; a real model's words grow before the eyes."""
    with Service(upstream=None, keys=(), allowed_origins="") as service:
        seen = _ask(f"{service.url}/", "What is the capital of France?")
        assert service.stop() == 0

    assert seen["question"].endswith("What is the capital of France?")
    assert seen["button"] == "Send", seen
    assert seen["trouble"] == []
    assert seen["status"] == "The answer is complete"
    grown = [length for length in seen["lengths"] if length > 0]
    assert len(grown) >= 2, seen["lengths"]
    assert grown == sorted(grown), "text that was shown went away again"
    assert grown[-1] == len(seen["text"])
    assert seen["notice"], "the page must say who answers"
    assert seen["errors"] == []
